// Nodes: the machines, and which of them are alive.
#include "drover/config.h"
#include "drover/module.h"
#include "registry.h"
#include "rpc.h"
#include "tables.h"

namespace drover::nodes {
namespace {

ConfigOption introduction_block() {
  using Type = ConfigType;
  return {.name = "client_introduction",
          .type = Type::block,
          .help = "How nodes that are new come in.",
          .options = {{.name = "enforcement",
                       .type = Type::string,
                       .default_text = "warn",
                       .help = "A new node without an introduction token is taken in silently (none), taken in with a "
                               "warning (warn) or refused (strict).",
                       .one_of = {"none", "warn", "strict"}},
                      {.name = "default_identity_ttl",
                       .type = Type::duration,
                       .default_text = "5m",
                       .help = "Life of an introduction token that is made without one.",
                       .min = 1},
                      {.name = "max_identity_ttl",
                       .type = Type::duration,
                       .default_text = "30m",
                       .help = "Longest life of an introduction token.",
                       .min = 1}}};
}

IntroductionOptions introduction_options(const ConfigBlock* server) {
  IntroductionOptions options;
  const ConfigBlock* block = server ? server->block("client_introduction") : nullptr;
  if (!block) return options;
  const std::string enforcement = block->string("enforcement");
  if (enforcement == "none") options.enforcement = Enforcement::none;
  if (enforcement == "strict") options.enforcement = Enforcement::strict;
  options.default_ttl = block->duration("default_identity_ttl", options.default_ttl);
  options.max_ttl = block->duration("max_identity_ttl", options.max_ttl);
  return options;
}

class NodesPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_tables(declare, nodes_));
    DROVER_RETURN_IF_ERROR(
        declare.configuration("server", {.options = {
                                             {.name = "heartbeat_grace",
                                              .type = ConfigType::duration,
                                              .default_text = "10s",
                                              .help = "Added to a node's TTL before it counts as down."},
                                             {.name = "min_heartbeat_ttl",
                                              .type = ConfigType::duration,
                                              .default_text = "10s",
                                              .help = "Shortest time between heartbeats of a node."},
                                             {.name = "max_heartbeats_per_second",
                                              .type = ConfigType::number,
                                              .default_text = "50",
                                              .help = "Heartbeats this server wants at most.",
                                              .min = 0.01},
                                             {.name = "failover_heartbeat_ttl",
                                              .type = ConfigType::duration,
                                              .default_text = "300s",
                                              .help = "First deadline that a new leader gives every node."},
                                             introduction_block(),
                                         }}));
    DROVER_RETURN_IF_ERROR(registry_.declare(declare));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override {
    HeartbeatOptions options;
    if (const ConfigBlock* server = host.configuration("server")) {
      options.grace = server->duration("heartbeat_grace", options.grace);
      options.minimum_ttl = server->duration("min_heartbeat_ttl", options.minimum_ttl);
      options.max_per_second = server->number("max_heartbeats_per_second", options.max_per_second);
      options.failover_ttl = server->duration("failover_heartbeat_ttl", options.failover_ttl);
    }
    DROVER_RETURN_IF_ERROR(introductions_.start(host, introduction_options(host.configuration("server"))));
    DROVER_RETURN_IF_ERROR(registry_.start(host, options));
    return rpc_.start(host);
  }
  void lead(std::stop_token stop) override { registry_.lead(stop); }
  void stop(SteadyTime) override {}

 private:
  Table<v1::Node> nodes_;
  Introductions introductions_;
  Registry registry_{nodes_, introductions_};
  Rpc rpc_{nodes_, introductions_};
};

}  // namespace
}  // namespace drover::nodes

DROVER_MODULE(drover::nodes::NodesPlugin, "module", "nodes", "0.1.0");
