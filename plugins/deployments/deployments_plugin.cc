// Deployments: the replacement of a job's allocations by those of a new version, watched until it is over.
#include "drover/module.h"
#include "rpc.h"
#include "tables.h"
#include "watcher.h"

namespace drover::deployments {
namespace {

class DeploymentsPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override {
    host_ = &host;
    rpc_.start(host);
    return ok_status();
  }
  void lead(std::stop_token stop) override { Watcher(*host_, tables_).run(std::move(stop)); }
  void stop(SteadyTime) override {}

 private:
  Host* host_ = nullptr;
  Tables tables_;
  Rpc rpc_{tables_};
};

}  // namespace
}  // namespace drover::deployments

DROVER_MODULE(drover::deployments::DeploymentsPlugin, "module", "deployments", "0.1.0");
