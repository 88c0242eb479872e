#include "kernel/rpc/server_names.h"

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

}  // namespace drover
