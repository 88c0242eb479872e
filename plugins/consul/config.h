// The agent's block `consul`, and what the environment says beside it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/endpoint.h"
#include "drover/config.h"

namespace drover::v1 {
class Identity;
}

namespace drover::consul {

// The identity by which tasks log in.
inline constexpr const char* kTaskIdentity = "consul_default";

struct Config {
  Endpoint endpoint;
  std::string server_service = "nomad", client_service = "nomad-client";
  std::string server_http_check, server_serf_check, server_rpc_check, client_http_check;  // names
  std::vector<std::string> tags;  // of the agent's own services
  bool advertises = true;         // the agent's own services
  bool checks_use_advertise = false;
  bool server_joins = true, client_joins = true;
  std::string task_auth_method = "nomad-workloads";  // of Consul, by which tasks log in
  std::shared_ptr<const v1::Identity> task_identity{};  // that tasks get by themselves; null: none
};

ConfigSchema config_schema();

// A variable of the agent's environment; empty: it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// Requires: the block is checked against config_schema(). Errors: invalid_argument naming the option.
Result<Config> read_config(const ConfigBlock& block, const Environment& environment);

}  // namespace drover::consul
