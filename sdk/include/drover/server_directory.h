// The servers of this region and others, alive or not, as membership knows them. [any]
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/uuid.h"

namespace drover {

namespace v1 {
class AgentMember;
}

enum class ServerStatus : uint8_t { alive, leaving, failed, left };
std::string_view to_string(ServerStatus status);

struct ServerMember {
  Uuid id;
  std::string name;  // unique in its region
  std::string region;
  std::string datacenter;
  std::string version;       // drover's
  std::string address;       // gossip, "host:port"
  std::string rpc_address;   // "host:port"
  Uuid cluster_id;           // zero: part of no cluster, as far as it said
  int bootstrap_expect = 0;  // servers that it wants a new cluster to begin with
  ServerStatus status = ServerStatus::alive;
};

class ServerDirectory {
 public:
  static constexpr std::string_view kExtensionPoint = "server_directory";
  virtual ~ServerDirectory() = default;
  // All that are known, this server among them, ordered by name and region.
  virtual std::vector<ServerMember> servers() const = 0;
};

// Servers that a node agent has heard of since it started, beside those of its configuration. Whoever extends it says
// them in the order in which they are to be tried. [any]
class HeardServers {
 public:
  static constexpr std::string_view kExtensionPoint = "heard_servers";
  virtual ~HeardServers() = default;
  virtual std::vector<std::string> rpc_addresses() const = 0;  // "host:port"
};

// The API's form: "name.region", address and the tags that tools read.
v1::AgentMember to_agent_member(const ServerMember& server);

}  // namespace drover
