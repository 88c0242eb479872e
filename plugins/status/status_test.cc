#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent_info.h"

namespace drover::status {
namespace {

Known a_server() {
  Known known;
  known.agent = {.name = "s1",
                 .region = "global",
                 .version = "0.1.0",
                 .server = true,
                 .client = true,
                 .advertise_http = "10.0.0.1:4646",
                 .advertise_rpc = "10.0.0.1:4647",
                 .advertise_serf = "10.0.0.1:4648"};
  known.raft = {
      .role = "leader",
      .is_leader = true,
      .term = 3,
      .last_index = 12,
      .commit_index = 11,
      .applied_index = 9,
      .snapshot_index = 5,
      .last_term = 3,
      .snapshot_term = 2,
      .leader_address = "10.0.0.1:4647",
      .configuration_index = 2,
      .servers = {{.id = Uuid::from_bytes(std::string(16, 'a')), .address = "10.0.0.1:4647", .is_voter = true},
                  {.id = Uuid::from_bytes(std::string(16, 'b')), .address = "10.0.0.2:4647", .is_voter = false}}};
  known.servers = {{.name = "s1", .region = "global"},
                   {.name = "s2", .region = "mars", .status = ServerStatus::failed}};
  known.groups["client"] = {{"node_id", "6e6e"}, {"heartbeat_ttl", "10s"}};
  return known;
}

TEST(AgentSelf, StatsHaveTheGroupsThatClientsRead) {
  const auto stats = nlohmann::json::parse(stats_json(a_server()));

  EXPECT_EQ(stats["client"]["heartbeat_ttl"], "10s");
  EXPECT_EQ(stats["nomad"]["leader"], "true");
  EXPECT_EQ(stats["nomad"]["known_regions"], "2");
  EXPECT_EQ(stats["nomad"]["bootstrap"], "false");
  EXPECT_EQ(stats["serf"]["members"], "2");
  EXPECT_EQ(stats["serf"]["failed"], "1");
  EXPECT_EQ(stats["raft"]["state"], "Leader");
  EXPECT_EQ(stats["raft"]["fsm_pending"], "2");
  EXPECT_EQ(stats["raft"]["last_contact"], "0");
  EXPECT_EQ(stats["raft"]["num_peers"], "1");
  EXPECT_EQ(stats["raft"]["last_log_term"], "3");
  EXPECT_EQ(stats["raft"]["last_snapshot_term"], "2");
  EXPECT_EQ(stats["raft"]["protocol_version"], "3");
  EXPECT_EQ(stats["raft"]["latest_configuration"],
            "[{Suffrage:Voter ID:61616161-6161-6161-6161-616161616161 Address:10.0.0.1:4647} "
            "{Suffrage:Nonvoter ID:62626262-6262-6262-6262-626262626262 Address:10.0.0.2:4647}]");
  for (const char* name : {"arch", "cpu_count", "max_procs", "kernel.name", "version"})
    EXPECT_TRUE(stats["runtime"][name].is_string()) << name;
  for (const auto& [group, fields] : stats.items()) {
    for (const auto& [name, value] : fields.items()) EXPECT_TRUE(value.is_string()) << group << "." << name;
  }
}

TEST(AgentSelf, ANodeSaysNothingOfConsensus) {
  Known known;
  known.agent.client = true;
  known.groups["client"] = {{"node_id", "6e6e"}};
  const auto stats = nlohmann::json::parse(stats_json(known));

  EXPECT_EQ(stats["client"]["node_id"], "6e6e");
  EXPECT_FALSE(stats.contains("raft"));
  EXPECT_FALSE(stats.contains("serf"));
}

TEST(AgentSelf, TheConfigurationHasTheVersionAndTheAddressesInUse) {
  const auto config = nlohmann::json::parse(
      config_json(R"({"NodeName": "", "AdvertiseAddrs": {"HTTP": ""}, "UI": null, "Region": "global"})", a_server()));

  EXPECT_EQ(config["Version"]["Version"], "0.1.0");
  EXPECT_EQ(config["NodeName"], "s1");
  EXPECT_EQ(config["AdvertiseAddrs"]["Serf"], "10.0.0.1:4648");
  EXPECT_EQ(config["UI"]["Enabled"], false);
  EXPECT_EQ(config["Region"], "global");
}

}  // namespace
}  // namespace drover::status
