// Makes this server known to others of which somebody has heard: a registry in which servers stand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover {

// Provided by the plugin that finds the servers, on servers. [any]
class ServerJoiner {
 public:
  static constexpr std::string_view kExtensionPoint = "server_joiner";
  virtual ~ServerJoiner() = default;
  // Joins those at these addresses of gossip, "host:port"; waits, ten seconds at most. How many answered, which is at
  // least one. Errors: unavailable, with what they said.
  virtual Result<size_t> join_servers(const std::vector<std::string>& addresses) = 0;
};

}  // namespace drover
