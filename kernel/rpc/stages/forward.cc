#include "kernel/rpc/stages/forward.h"

#include <algorithm>

namespace drover::rpc {
namespace {

Destination to_leader(const Situation& now) {
  if (now.is_server && now.is_leader) return now.is_ready ? Destination(Here{}) : Destination(WaitForLeader{});
  if (!now.is_server)
    return now.any_server_address.empty() ? Destination(WaitForLeader{})
                                          : Destination(ToServer{now.any_server_address});
  return now.leader_address.empty() ? Destination(WaitForLeader{}) : Destination(ToServer{now.leader_address});
}

Destination to_node(const CallContext& context, const Situation& now) {
  if (!now.names_target) {
    if (now.local_node) return Here{};
    return invalid_argument("No local Node and node_id not provided");
  }
  if (now.wanted_node && now.local_node == now.wanted_node) return Here{};
  if (now.is_server) {
    if (!now.wanted_node) return not_found("No path to node");
    if (now.node_is_connected) return ToNode{*now.wanted_node};
    // A node opens one connection, to any server: each asks another one that was not asked yet.
    if (!now.unvisited_server.empty()) return ToServer{now.unvisited_server};
    return not_found("No path to node");
  }
  if (!context.path.empty()) return not_found("No path to node");
  return now.any_server_address.empty() ? Destination(WaitForLeader{}) : Destination(ToServer{now.any_server_address});
}

// Another agent than the receiving one, where the request names it.
Destination to_agent(const CallContext& context, const Situation& now) {
  if (now.names_target && !now.wanted_server.empty())
    return invalid_argument("a node and a server are named: one of them is asked at a time");
  if (now.names_target) return to_node(context, now);
  if (!now.is_server)
    return now.any_server_address.empty() ? Destination(WaitForLeader{})
                                          : Destination(ToServer{now.any_server_address});
  if (!now.wanted_address) return not_found("unknown server " + now.wanted_server);
  return now.wanted_address->empty() ? Destination(Here{}) : Destination(ToServer{*now.wanted_address});
}

}  // namespace

Destination decide(const Route& route, const CallContext& context, const Situation& now) {
  if (!now.server_name.empty() && std::ranges::find(context.path, now.server_name) != context.path.end()) {
    return internal_error("call " + context.method + " came back to server " + now.server_name +
                          "; it is not forwarded in a loop");
  }
  if (route.target() == Route::LOCAL && !now.names_target && now.wanted_server.empty()) return Here{};
  const std::string& region = context.query.region;
  if (!region.empty() && region != now.region) return failed_precondition("No path to region");
  switch (route.target()) {
    case Route::LOCAL:
      return to_agent(context, now);
    case Route::NODE:
      return to_node(context, now);
    case Route::ANY:
      return now.is_server ? Destination(Here{}) : to_leader(now);
    default:
      break;
  }
  const bool is_read = route.kind() == Route::READ || route.kind() == Route::LIST;
  if (is_read && context.query.stale && now.is_server) return Here{};
  return to_leader(now);
}

}  // namespace drover::rpc
