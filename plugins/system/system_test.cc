#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agent_info.h"
#include "metrics_text.h"

namespace drover::system {
namespace {

using namespace std::chrono_literals;

TEST(MetricsText, PrometheusForm) {
  Metrics metrics;
  metrics.add("nomad.nomad.rpc.Jobs.read", 2, {{"identity", "a\"b"}});
  metrics.set("nomad.nomad.heartbeat.active", 3);
  metrics.observe("nomad.raft.fsm.apply", 2ms);
  metrics.observe("nomad.raft.fsm.apply", 4ms);
  EXPECT_EQ(
      "# HELP nomad_nomad_heartbeat_active nomad_nomad_heartbeat_active\n"
      "# TYPE nomad_nomad_heartbeat_active gauge\nnomad_nomad_heartbeat_active 3.0\n"
      "# HELP nomad_nomad_rpc_Jobs_read nomad_nomad_rpc_Jobs_read\n"
      "# TYPE nomad_nomad_rpc_Jobs_read counter\nnomad_nomad_rpc_Jobs_read{identity=\"a\\\"b\"} 2.0\n"
      "# HELP nomad_raft_fsm_apply nomad_raft_fsm_apply\n"
      "# TYPE nomad_raft_fsm_apply summary\nnomad_raft_fsm_apply_sum 6.0\nnomad_raft_fsm_apply_count 2\n",
      to_prometheus(metrics.values()));
}

TEST(MetricsText, SummaryForm) {
  Metrics metrics;
  metrics.observe("t", 2ms);
  metrics.observe("t", 4ms);
  auto json = nlohmann::json::parse(to_summary(metrics.values(), 1'700'000'000'000'000'000, 1'700'000'012'345'678'901));
  EXPECT_EQ("2023-11-14 22:13:32 +0000 UTC", json["Timestamp"]);
  EXPECT_EQ(2, json["Samples"][0]["Count"]);
  EXPECT_NEAR(6.0 / 12.345, json["Samples"][0]["Rate"].get<double>(), 0.001);
  EXPECT_FALSE(json["Samples"][0].contains("SumSq"));
  EXPECT_EQ(3.0, json["Samples"][0]["Mean"]);
  EXPECT_TRUE(json["Gauges"].empty());
}

// --- what an agent says of itself ------------------------------------------------------------------------------------

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
      .leader_address = "10.0.0.1:4647",
      .configuration_index = 2,
      .servers = {{.id = Uuid::from_bytes(std::string(16, 'a')), .address = "10.0.0.1:4647", .is_voter = true},
                  {.id = Uuid::from_bytes(std::string(16, 'b')), .address = "10.0.0.2:4647", .is_voter = false}}};
  known.servers = {{.name = "s1", .region = "global"},
                   {.name = "s2", .region = "mars", .status = ServerStatus::failed}};
  known.node = Uuid::from_bytes(std::string(16, 'n'));
  return known;
}

TEST(AgentSelf, StatsHaveTheGroupsThatClientsRead) {
  const auto stats = nlohmann::json::parse(stats_json(a_server()));

  EXPECT_EQ(stats["client"]["node_id"], Uuid::from_bytes(std::string(16, 'n')).to_string());
  EXPECT_EQ(stats["nomad"]["leader"], "true");
  EXPECT_EQ(stats["nomad"]["known_regions"], "2");
  EXPECT_EQ(stats["nomad"]["bootstrap"], "false");
  EXPECT_EQ(stats["serf"]["members"], "2");
  EXPECT_EQ(stats["serf"]["failed"], "1");
  EXPECT_EQ(stats["raft"]["state"], "Leader");
  EXPECT_EQ(stats["raft"]["fsm_pending"], "2");
  EXPECT_EQ(stats["raft"]["last_contact"], "0");
  EXPECT_EQ(stats["raft"]["num_peers"], "1");
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
  const auto stats = nlohmann::json::parse(stats_json(known));

  EXPECT_EQ(stats["client"]["node_id"], "") << "not registered yet";
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
}  // namespace drover::system
