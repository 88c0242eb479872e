#include <optional>

#include "part.h"
#include "plugins/deployments/rpc.h"
#include "plugins/deployments/tables.h"
#include "plugins/deployments/watcher.h"

namespace drover::lives {
namespace {

class DeploymentsPart final : public Part {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(deployments::declare_tables(declare, tables_));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override {
    host_ = &host;
    rpc_.start(host);
    return ok_status();
  }
  void lead(const ReadView& view) override { watcher_.emplace(*host_, tables_).restore(view); }
  void take(const Change& change, uint64_t) override { watcher_->take(change); }
  bool look(int) override {
    watcher_->look(host_->clock().steady());
    return false;
  }

 private:
  Host* host_ = nullptr;
  deployments::Tables tables_;
  deployments::Rpc rpc_{tables_};
  std::optional<deployments::Watcher> watcher_;
};

}  // namespace

std::unique_ptr<Part> deployments_part() { return std::make_unique<DeploymentsPart>(); }

}  // namespace drover::lives
