// Status and health as the API shows them. Functions of what the host says.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drover/api/system.pb.h"
#include "drover/plugin.h"
#include "drover/server_directory.h"

namespace drover::status {

// An agent's knowledge of itself and of the cluster at one moment.
struct Known {
  AgentInfo agent;
  RaftInfo raft;
  std::vector<ServerMember> servers;
  std::map<std::string, std::map<std::string, std::string>> groups;  // what parts of the agent show of themselves
  bool has_gossip_key = false;
};
Known known_of(const Host& host);

// The groups that Nomad's clients know, every value a text. A field that means nothing here is absent.
std::string stats_json(const Known& known);
// The configuration with values that are not configured: the version, and the addresses as they were settled.
std::string config_json(const std::string& configuration, const Known& known);

// Errors with HTTP status 500 and the health as JSON text when a role is not well.
Result<v1::HealthResponse> health_of(const Host& host, const v1::HealthRequest& request, bool node_is_known);

}  // namespace drover::status
