#include "kernel/rpc/server_names.h"

#include <algorithm>

namespace drover {

bool is_named(const Uuid& id, std::string_view name, std::string_view region, std::string_view server) {
  return server == name || server == std::string(name) + "." + std::string(region) || server == id.to_string();
}

std::optional<std::string> server_address_of(const std::vector<ServerMember>& servers, std::string_view server,
                                             std::string_view region) {
  for (const ServerMember& each : servers) {
    if (each.region == region && each.status == ServerStatus::alive && is_named(each.id, each.name, region, server))
      return each.rpc_address;
  }
  return std::nullopt;
}

std::string unvisited_server_of(const std::vector<ServerMember>& servers, std::string_view region,
                                std::string_view self, const std::vector<std::string>& visited) {
  for (const ServerMember& each : servers) {
    const bool is_fit = each.region == region && each.status == ServerStatus::alive && !each.rpc_address.empty();
    if (is_fit && each.name != self && std::ranges::find(visited, each.name) == visited.end()) return each.rpc_address;
  }
  return {};
}

}  // namespace drover
