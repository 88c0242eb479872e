// The wire between agents, as a plugin. The agent itself starts and stops it (drover/wire.h), because it is needed
// before the first plugin starts and until the last one has stopped.
#include "drover/module.h"
#include "wire.h"

namespace drover::wire {
namespace {

class GrpcPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override { return declare.extend<Wire>("grpc", *wire_); }
  Status start(Host&) override { return ok_status(); }
  void stop(SteadyTime) override {}

 private:
  const std::unique_ptr<Wire> wire_ = make_grpc_wire();
};

}  // namespace
}  // namespace drover::wire

DROVER_MODULE(drover::wire::GrpcPlugin, "module", "grpc", "0.1.0");
