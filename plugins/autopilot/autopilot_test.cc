// Health, promotion and removal as tables; configuration from each of its sources.
#include <gtest/gtest.h>

#include "config_row.h"
#include "decide.h"
#include "drover/api/operator.pb.h"
#include "raft_rpc.h"

namespace drover::autopilot {
namespace {

using namespace std::chrono_literals;
constexpr SteadyTime kNow{1h};

Uuid id_of(int number) { return Uuid::from_bytes(std::string(16, static_cast<char>(number))); }

// A cluster of healthy voters, the first of which leads.
struct Cluster {
  RaftInfo raft{.server_id = id_of(1), .is_leader = true, .term = 5, .last_index = 1000};
  std::vector<ServerMember> members;
  Report before;

  explicit Cluster(int voters) {
    for (int i = 1; i <= voters; ++i) add(i, true);
  }
  void add(int number, bool is_voter) {
    const std::string address = "10.0.0." + std::to_string(number) + ":4647";
    raft.servers.push_back(
        {.id = id_of(number), .address = address, .is_voter = is_voter, .match_index = 1000, .since_contact = 10ms});
    members.push_back(
        {.id = id_of(number), .name = "s" + std::to_string(number), .region = "global", .rpc_address = address});
  }
  RaftServer& server(int number) { return raft.servers[static_cast<size_t>(number - 1)]; }
  void status(int number, ServerStatus status) { members[static_cast<size_t>(number - 1)].status = status; }
  Report look(const Config& config = {}, SteadyTime now = kNow) {
    before = examine(config, raft, members, before, now, 42);
    return before;
  }
};

TEST(AutopilotHealth, EachRuleMakesAServerUnhealthy) {
  struct Case {
    const char* name;
    std::function<void(Cluster&)> change;
    bool is_healthy;
  };
  const Case cases[] = {
      {"nothing wrong", [](Cluster&) {}, true},
      {"at the contact threshold", [](Cluster& c) { c.server(2).since_contact = 200ms; }, true},
      {"silent too long", [](Cluster& c) { c.server(2).since_contact = 201ms; }, false},
      {"never heard", [](Cluster& c) { c.server(2).since_contact.reset(); }, false},
      {"at the trailing limit", [](Cluster& c) { c.server(2).match_index = 750; }, true},
      {"too far behind", [](Cluster& c) { c.server(2).match_index = 749; }, false},
      {"failed", [](Cluster& c) { c.status(2, ServerStatus::failed); }, false},
      {"leaving", [](Cluster& c) { c.status(2, ServerStatus::leaving); }, false},
      {"damaged", [](Cluster& c) { c.server(2).is_damaged = true; }, false},
      {"unknown to gossip", [](Cluster& c) { c.members.erase(c.members.begin() + 1); }, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Cluster cluster(3);
    c.change(cluster);
    const Report report = cluster.look();
    EXPECT_EQ(report.servers[1].is_healthy, c.is_healthy);
    EXPECT_EQ(report.is_healthy, c.is_healthy);
    EXPECT_EQ(report.failure_tolerance, c.is_healthy ? 1 : 0);
    EXPECT_TRUE(report.servers[0].is_healthy) << "the leader";
  }
}

TEST(AutopilotHealth, StableSinceIsTheLastChange) {
  Cluster cluster(3);
  cluster.look({}, kNow);
  EXPECT_EQ(cluster.look({}, kNow + 5s).servers[1].stable_since, kNow);
  cluster.status(2, ServerStatus::failed);
  EXPECT_EQ(cluster.look({}, kNow + 6s).servers[1].stable_since, kNow + 6s);
  EXPECT_EQ(cluster.look({}, kNow + 7s).servers[1].stable_since, kNow + 6s);
}

TEST(AutopilotPlan, ALearnerIsPromotedWhenItWasHealthyLongEnough) {
  Cluster cluster(3);
  cluster.add(4, false);
  EXPECT_FALSE(decide({}, cluster.look({}, kNow), kNow).action);
  EXPECT_FALSE(decide({}, cluster.look({}, kNow + 9s), kNow + 9s).action);

  const Plan plan = decide({}, cluster.look({}, kNow + 10s), kNow + 10s);
  ASSERT_TRUE(plan.action);
  EXPECT_EQ(plan.action->edit.kind, RaftEdit::Kind::add_voter);
  EXPECT_EQ(plan.action->edit.id, id_of(4));
  EXPECT_EQ(plan.action->edit.address, "10.0.0.4:4647");

  cluster.server(4).match_index = 1;  // behind again: the time begins anew
  EXPECT_FALSE(decide({}, cluster.look({}, kNow + 11s), kNow + 11s).action);
  cluster.server(4).match_index = 1000;
  EXPECT_FALSE(decide({}, cluster.look({}, kNow + 12s), kNow + 12s).action);
}

TEST(AutopilotPlan, WhoIsRemovedAndWhoIsNot) {
  constexpr ServerStatus kFailed = ServerStatus::failed, kLeft = ServerStatus::left;
  struct Case {
    const char* name;
    int voters;
    std::vector<std::pair<int, ServerStatus>> gone;
    Config config;
    int removed;  // 0: nobody
    bool is_held;
  };
  const Case cases[] = {
      {"nobody is gone", 3, {}, {}, 0, false},
      {"one of three failed", 3, {{2, kFailed}}, {}, 2, false},
      {"one of three left", 3, {{3, kLeft}}, {}, 3, false},
      {"two of three failed", 3, {{2, kFailed}, {3, kFailed}}, {}, 0, true},
      {"two of five failed, one at a time", 5, {{2, kFailed}, {3, kFailed}}, {}, 2, false},
      {"one of two failed", 2, {{2, kFailed}}, {}, 0, true},
      {"not below the wanted quorum", 3, {{2, kFailed}}, {.min_quorum = 3}, 0, true},
      {"down to the wanted quorum", 4, {{2, kFailed}}, {.min_quorum = 3}, 2, false},
      {"the operator keeps the failed", 3, {{2, kFailed}}, {.cleanup_dead_servers = false}, 0, false},
      {"but not those that left", 3, {{2, kLeft}}, {.cleanup_dead_servers = false}, 2, false},
      {"leaving is not left", 3, {{2, ServerStatus::leaving}}, {}, 0, false},
      {"the leader stays", 3, {{1, kFailed}}, {}, 0, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Cluster cluster(c.voters);
    for (const auto& [number, status] : c.gone) cluster.status(number, status);
    const Plan plan = decide(c.config, cluster.look(c.config), kNow);
    EXPECT_EQ(plan.action.has_value(), c.removed != 0);
    if (plan.action && c.removed != 0) {
      EXPECT_EQ(plan.action->edit.kind, RaftEdit::Kind::remove);
      EXPECT_EQ(plan.action->edit.id, id_of(c.removed));
    }
    EXPECT_EQ(!plan.held.empty(), c.is_held) << plan.held;
  }
}

TEST(AutopilotPlan, AFailedLearnerIsRemovedWhateverTheVotersDo) {
  Cluster cluster(2);
  cluster.add(3, false);
  cluster.status(2, ServerStatus::failed);
  cluster.status(3, ServerStatus::failed);

  const Plan plan = decide({}, cluster.look(), kNow);

  ASSERT_TRUE(plan.action);
  EXPECT_EQ(plan.action->edit.id, id_of(3));
}

TEST(AutopilotConfig, ComesFromTheAgentsBlock) {
  const auto defaults = to_config(initial_configuration(nullptr));
  ASSERT_TRUE(defaults);
  EXPECT_TRUE(defaults->cleanup_dead_servers);
  EXPECT_EQ(defaults->last_contact_threshold, 200ms);
  EXPECT_EQ(defaults->server_stabilization_time, 10s);

  const auto block =
      parse_config("a.hcl", "cleanup_dead_servers = false\nmin_quorum = 3\nlast_contact_threshold = \"1s\"\n");
  ASSERT_TRUE(block);
  const auto checked = apply_schema(*block, config_schema());
  ASSERT_TRUE(checked) << checked.status().message();
  const auto config = to_config(initial_configuration(&*checked));
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->cleanup_dead_servers);
  EXPECT_EQ(config->min_quorum, 3u);
  EXPECT_EQ(config->last_contact_threshold, 1s);
  EXPECT_EQ(config->max_trailing_logs, 250u);
}

TEST(AutopilotConfig, AWrongValueIsNamed) {
  v1::AutopilotConfiguration wrong = initial_configuration(nullptr);
  wrong.set_last_contact_threshold("soon");
  EXPECT_NE(to_config(wrong).status().message().find("LastContactThreshold"), std::string::npos);
  wrong.set_last_contact_threshold("-1s");
  EXPECT_EQ(to_config(wrong).status().message(), "LastContactThreshold is negative");
  wrong.set_last_contact_threshold("");
  EXPECT_TRUE(to_config(wrong));
  wrong.set_enable_redundancy_zones(true);
  EXPECT_EQ(to_config(wrong).status().code(), Code::invalid_argument);
}

TEST(OperatorRaft, APeerIsNamedByOneOfTwoWays) {
  const Cluster cluster(2);
  v1::RaftPeerRequest request;
  EXPECT_EQ(find_peer(cluster.raft, request).status().code(), Code::invalid_argument);
  request.set_address("10.0.0.2:4647");
  EXPECT_EQ(find_peer(cluster.raft, request)->id, id_of(2));
  request.set_id(id_of(1).to_string());
  EXPECT_EQ(find_peer(cluster.raft, request).status().code(), Code::invalid_argument);
  request.clear_address();
  EXPECT_EQ(find_peer(cluster.raft, request)->id, id_of(1));
  request.set_id(id_of(9).to_string());
  EXPECT_EQ(find_peer(cluster.raft, request).status().code(), Code::not_found);
}

}  // namespace
}  // namespace drover::autopilot
