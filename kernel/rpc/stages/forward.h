// Decides where a call is answered. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "drover/methods.h"
#include "drover/uuid.h"
#include "kernel/rpc/method_table.h"

namespace drover::rpc {

struct Here {};
struct ToServer {
  std::string address;
};
struct ToNode {
  Uuid node;
};
struct WaitForLeader {};  // ask again shortly, until the hold time is over
using Destination = std::variant<Here, ToServer, ToNode, WaitForLeader, Status>;

// The facts that the decision rests on.
struct Situation {
  std::string region;
  std::string server_name;
  bool is_server = false;
  bool is_leader = false;
  bool is_ready = false;
  std::string leader_address;
  std::string any_server_address;
  std::optional<Uuid> local_node;
  std::optional<Uuid> wanted_node;            // NODE, LOCAL: from the request; nothing when it could not be told
  bool names_target = false;                  // NODE, LOCAL: the request names a node or an allocation
  bool node_is_connected = false;             // NODE, LOCAL: the wanted node opened a connection to this server
  std::string unvisited_server;               // NODE, LOCAL: of this region; address, or empty
  std::string wanted_server;                  // LOCAL: the request's name of a server
  std::optional<std::string> wanted_address;  // of that one, empty for this server; nothing when none is known
};

// Errors: failed_precondition "No path to region", not_found "No path to node" and "unknown server"; invalid_argument
// for a node and a server at once; internal when a call comes round again.
Destination decide(const Route& route, const CallContext& context, const Situation& now);

}  // namespace drover::rpc
