// Which server of a region a person means. Pure. [any]
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/server_directory.h"

namespace drover {

// The RPC address of the living server with that name ("one", "one.global") or identifier; nothing when there is none.
std::optional<std::string> server_address_of(const std::vector<ServerMember>& servers, std::string_view server,
                                             std::string_view region);
// The RPC address of a living server of the region that is neither `self` nor named in `visited`; empty when there is
// none.
std::string unvisited_server_of(const std::vector<ServerMember>& servers, std::string_view region,
                                std::string_view self, const std::vector<std::string>& visited);
// True for the names and the identifier of one.
bool is_named(const Uuid& id, std::string_view name, std::string_view region, std::string_view server);

}  // namespace drover
