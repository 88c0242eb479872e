#include "kernel/rpc/stages/forward.h"

#include "gtest/gtest.h"

namespace drover::rpc {
namespace {

const Uuid kNode = Uuid::from_bytes("0123456789abcdef");
const Uuid kOther = Uuid::from_bytes("fedcba9876543210");

std::string describe(const Destination& destination) {
  if (std::holds_alternative<Here>(destination)) return "here";
  if (auto* server = std::get_if<ToServer>(&destination)) return "server " + server->address;
  if (auto* node = std::get_if<ToNode>(&destination)) return node->node == kNode ? "node" : "another node";
  if (std::holds_alternative<WaitForLeader>(destination)) return "wait";
  return std::get<Status>(destination).to_string();
}

Situation leader() {
  return {.region = "global",
          .server_name = "s1",
          .is_server = true,
          .is_leader = true,
          .is_ready = true,
          .leader_address = "s1:4647"};
}
Situation follower() {
  return {.region = "global", .server_name = "s2", .is_server = true, .leader_address = "s1:4647"};
}
Situation client() { return {.region = "global", .any_server_address = "s3:4647"}; }

template <typename Change>
Situation with(Situation now, Change change) {
  change(now);
  return now;
}

Situation lonely_follower() {
  return with(follower(), [](Situation& s) { s.leader_address.clear(); });
}
Situation lonely_client() {
  return with(client(), [](Situation& s) { s.any_server_address.clear(); });
}
Situation wants(Situation now, const Uuid& node) {
  now.names_target = true;
  now.wanted_node = node;
  return now;
}
Situation connected(Situation now) {
  now.node_is_connected = true;
  return now;
}
Situation agent_of(Situation now, const Uuid& node) {
  now.local_node = node;
  return now;
}

Situation names(Situation now, std::string server, std::optional<std::string> address) {
  now.wanted_server = std::move(server);
  now.wanted_address = std::move(address);
  return now;
}

TEST(Forward, EverySituationHasItsDestination) {
  CallContext plain;
  CallContext stale;
  stale.query.stale = true;
  CallContext elsewhere;
  elsewhere.query.region = "mars";
  CallContext at_home;
  at_home.query.region = "global";
  CallContext forwarded;
  forwarded.path = {"s9"};

  struct Case {
    const char* name;
    Route::Target target;
    Route::Kind kind;
    CallContext context;
    Situation now;
    const char* destination;
  };
  const Case cases[] = {
      {"a write on the leader", Route::LEADER, Route::WRITE, plain, leader(), "here"},
      {"a read on the leader", Route::LEADER, Route::READ, plain, leader(), "here"},
      {"a new leader first applies what was before it", Route::LEADER, Route::READ, plain,
       with(leader(), [](Situation& s) { s.is_ready = false; }), "wait"},
      {"a write on a follower", Route::LEADER, Route::WRITE, plain, follower(), "server s1:4647"},
      {"a list on a follower", Route::LEADER, Route::LIST, plain, follower(), "server s1:4647"},
      {"a stale read on a follower", Route::LEADER, Route::READ, stale, follower(), "here"},
      {"a stale list on a follower", Route::LEADER, Route::LIST, stale, follower(), "here"},
      {"a stale read on a follower without leader", Route::LEADER, Route::READ, stale, lonely_follower(), "here"},
      {"a write is never stale", Route::LEADER, Route::WRITE, stale, follower(), "server s1:4647"},
      {"a stale read on a client", Route::LEADER, Route::READ, stale, client(), "server s3:4647"},
      {"nobody leads", Route::LEADER, Route::WRITE, plain, lonely_follower(), "wait"},
      {"a client knows a server", Route::LEADER, Route::WRITE, plain, client(), "server s3:4647"},
      {"a client knows no server", Route::LEADER, Route::WRITE, plain, lonely_client(), "wait"},
      {"any server will do, on a follower", Route::ANY, Route::ACT, plain, follower(), "here"},
      {"any server will do, on the leader", Route::ANY, Route::READ, plain, leader(), "here"},
      {"any server will do, on a client", Route::ANY, Route::READ, plain, client(), "server s3:4647"},
      {"any server will do, on a client that knows none", Route::ANY, Route::READ, plain, lonely_client(), "wait"},
      {"local, on a client", Route::LOCAL, Route::READ, plain, client(), "here"},
      {"local, whatever the region", Route::LOCAL, Route::READ, elsewhere, leader(), "here"},
      {"local, and this server is named", Route::LOCAL, Route::ACT, plain, names(leader(), "s1", ""), "here"},
      {"local, and another server is named", Route::LOCAL, Route::ACT, plain, names(follower(), "s7", "s7:4647"),
       "server s7:4647"},
      {"local, and a server that nobody knows", Route::LOCAL, Route::ACT, plain, names(leader(), "s8", std::nullopt),
       "not_found: unknown server s8"},
      {"local, and a client asks a server for a server", Route::LOCAL, Route::ACT, plain,
       names(client(), "s1", std::nullopt), "server s3:4647"},
      {"local, and a client that knows none", Route::LOCAL, Route::ACT, plain,
       names(lonely_client(), "s1", std::nullopt), "wait"},
      {"local, and a node is named", Route::LOCAL, Route::ACT, plain, connected(wants(leader(), kNode)), "node"},
      {"local, and this node is named", Route::LOCAL, Route::ACT, plain, wants(agent_of(client(), kNode), kNode),
       "here"},
      {"local, and a node that nobody knows", Route::LOCAL, Route::ACT, plain, wants(leader(), kNode),
       "not_found: No path to node"},
      {"local, and a server of another region", Route::LOCAL, Route::ACT, elsewhere, names(leader(), "s7", "s7:4647"),
       "failed_precondition: No path to region"},
      {"local, and both are named", Route::LOCAL, Route::ACT, plain, names(wants(leader(), kNode), "s7", "s7:4647"),
       "invalid_argument: a node and a server are named: one of them is asked at a time"},
      {"another region", Route::LEADER, Route::WRITE, elsewhere, leader(), "failed_precondition: No path to region"},
      {"this region by name", Route::LEADER, Route::WRITE, at_home, leader(), "here"},
      {"this node's own", Route::NODE, Route::READ, plain, wants(agent_of(leader(), kNode), kNode), "here"},
      {"a node connected here", Route::NODE, Route::READ, plain, connected(wants(leader(), kNode)), "node"},
      {"a node connected here, beside this node", Route::NODE, Route::READ, plain,
       connected(wants(agent_of(leader(), kOther), kNode)), "node"},
      {"a node the leader does not know", Route::NODE, Route::READ, plain, wants(leader(), kNode),
       "not_found: No path to node"},
      {"a node that another server may know", Route::NODE, Route::READ, plain,
       with(wants(leader(), kNode), [](Situation& s) { s.unvisited_server = "s2:4647"; }), "server s2:4647"},
      {"a node connected here is asked for nowhere else", Route::NODE, Route::READ, plain,
       with(connected(wants(leader(), kNode)), [](Situation& s) { s.unvisited_server = "s2:4647"; }), "node"},
      {"all were asked", Route::NODE, Route::READ, forwarded, wants(follower(), kNode), "not_found: No path to node"},
      {"a client asks a server for a node", Route::NODE, Route::READ, plain, wants(client(), kNode), "server s3:4647"},
      {"a client that was called for another node", Route::NODE, Route::READ, forwarded,
       wants(agent_of(client(), kOther), kNode), "not_found: No path to node"},
      {"a client asks for a node and knows no server", Route::NODE, Route::READ, plain, wants(lonely_client(), kNode),
       "wait"},
      {"a target that nobody can place", Route::NODE, Route::READ, plain,
       with(leader(), [](Situation& s) { s.names_target = true; }), "not_found: No path to node"},
      {"no target, on a node", Route::NODE, Route::READ, plain, agent_of(client(), kNode), "here"},
      {"no target, no node", Route::NODE, Route::READ, plain, leader(),
       "invalid_argument: No local Node and node_id not provided"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Route route;
    route.set_target(c.target);
    route.set_kind(c.kind);

    EXPECT_EQ(describe(decide(route, c.context, c.now)), c.destination);
  }
}

TEST(Forward, ACallThatComesBackIsNotForwardedAgain) {
  CallContext context;
  context.method = "/drover.v1.Jobs/Register";
  context.path = {"s1", "s2"};
  Route route;
  for (Route::Target target : {Route::LEADER, Route::ANY, Route::NODE, Route::LOCAL}) {
    route.set_target(target);

    EXPECT_EQ(describe(decide(route, context, follower())),
              "internal: call /drover.v1.Jobs/Register came back to server s2; it is not forwarded in a loop");
  }
}

}  // namespace
}  // namespace drover::rpc
