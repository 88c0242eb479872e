#include <optional>

#include "part.h"
#include "plugins/nodes/registry.h"
#include "plugins/nodes/rpc.h"
#include "plugins/nodes/tables.h"

namespace drover::lives {
namespace {

// Long, so that much time passes in few steps.
nodes::HeartbeatOptions heartbeats() {
  return {.minimum_ttl = std::chrono::seconds(60),
          .grace = std::chrono::seconds(10),
          .failover_ttl = std::chrono::seconds(120)};
}

class NodesPart final : public Part {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(nodes::declare_tables(declare, nodes_));
    DROVER_RETURN_IF_ERROR(registry_.declare(declare));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override {
    host_ = &host;
    DROVER_RETURN_IF_ERROR(introductions_.start(host, {.enforcement = nodes::Enforcement::none}));
    DROVER_RETURN_IF_ERROR(registry_.start(host, heartbeats()));
    return rpc_.start(host);
  }
  void lead(const ReadView&) override {
    (void)registry_.start(*host_, heartbeats());  // deadlines are known to one leader alone
    registry_.expect_nodes();
  }
  bool look(int) override { return registry_.mark_silent(); }

 private:
  Host* host_ = nullptr;
  Table<v1::Node> nodes_;
  nodes::Introductions introductions_;
  nodes::Registry registry_{nodes_, introductions_};
  nodes::Rpc rpc_{nodes_, introductions_};
};

}  // namespace

std::unique_ptr<Part> nodes_part() { return std::make_unique<NodesPart>(); }

}  // namespace drover::lives
