// Namespaces: parts of a cluster, each with jobs and variables of its own.
#include "drover/module.h"
#include "drover/v1/namespace.pb.h"
#include "rpc.h"
#include "tables.h"

namespace drover::namespaces {
namespace {

class NamespacesPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override {
    const std::string& region = host.agent().region;
    rpc_.start(region.empty() ? "global" : region);
    return ok_status();
  }
  void stop(SteadyTime) override {}

 private:
  Tables tables_;
  Rpc rpc_{tables_};
};

}  // namespace
}  // namespace drover::namespaces

DROVER_MODULE(drover::namespaces::NamespacesPlugin, "module", "namespaces", "0.1.0");
