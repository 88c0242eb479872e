// Node pools: groups of nodes that jobs ask for.
#include "drover/api/node_pools.pb.h"
#include "drover/log.h"
#include "drover/module.h"
#include "drover/pause.h"
#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "rpc.h"
#include "rules.h"
#include "tables.h"

namespace drover::node_pools {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(10);  // a restored state may lack what every cluster has
constexpr auto kProposeTime = std::chrono::seconds(10);

class NodePoolsPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, tables_));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override {
    host_ = &host;
    return ok_status();
  }
  void lead(std::stop_token stop) override {
    do {
      const Status status = ensure_built_in();
      if (!status.ok() && !stop.stop_requested()) {
        log::warn("node_pools", "the node pools of every cluster are not written yet", {{"error", status.message()}});
      }
    } while (pause_for(kLookEvery, stop));
  }
  void stop(SteadyTime) override {}

 private:
  Status ensure_built_in() {
    const auto view = host_->snapshot();
    v1::NodePoolsEnsured command;
    for (v1::NodePool& pool : built_in_pools()) {
      if (!view->get(tables_.pools.id(), node_pool_key(pool.name()))) *command.add_node_pools() = std::move(pool);
    }
    if (command.node_pools().empty()) return ok_status();
    return host_->propose(command, host_->clock().steady() + kProposeTime).status();
  }

  Host* host_ = nullptr;
  Tables tables_;
  Rpc rpc_{tables_};
};

}  // namespace
}  // namespace drover::node_pools

DROVER_MODULE(drover::node_pools::NodePoolsPlugin, "module", "node_pools", "0.1.0");
