// The wire between agents, as a plugin. The agent itself starts and stops it (drover/wire.h), because it is needed
// before the first plugin starts and until the last one has stopped.
#include "drover/config.h"
#include "drover/module.h"
#include "wire.h"

namespace drover::wire {
namespace {

class GrpcPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.extend<Wire>("grpc", *wire_));
    return declare.configuration(
        "limits",
        {.options = {
             {.name = "rpc_handshake_timeout",
              .type = ConfigType::duration,
              .default_text = "5s",
              .help = "Time for another agent to get through the handshakes of TLS and HTTP/2.",
              .min = 0.1,
              .max = 3600,
              .is_api_text = true},
             {.name = "rpc_max_conns_per_client",
              .type = ConfigType::integer,
              .default_text = "100",
              .help = "Connections with calls on them that one address may have to a server's RPC port; 0: no limit.",
              .min = 0},
         }});
  }
  // Before the agent listens.
  Status start(Host& host) override {
    const ConfigBlock* limits = host.configuration("limits");
    if (!limits) return ok_status();
    limits_->handshake = limits->duration("rpc_handshake_timeout", limits_->handshake);
    limits_->connections_per_address = static_cast<size_t>(limits->integer("rpc_max_conns_per_client", 100));
    return ok_status();
  }
  void stop(SteadyTime) override {}

 private:
  const std::shared_ptr<WireLimits> limits_ = std::make_shared<WireLimits>();
  const std::unique_ptr<Wire> wire_ = make_grpc_wire(limits_);
};

}  // namespace
}  // namespace drover::wire

DROVER_MODULE(drover::wire::GrpcPlugin, "module", "grpc", "0.1.0");
