#include "metrics_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace drover::metrics {
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

}  // namespace
}  // namespace drover::metrics
