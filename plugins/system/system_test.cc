#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "metrics_text.h"

namespace drover::system {
namespace {

using namespace std::chrono_literals;

TEST(MetricsText, PrometheusForm) {
  Metrics metrics;
  metrics.add("nomad.rpc.Jobs.read", 2, {{"identity", "a\"b"}});
  metrics.set("nomad.heartbeat.active", 3);
  metrics.observe("nomad.fsm.apply", 2ms);
  metrics.observe("nomad.fsm.apply", 4ms);
  EXPECT_EQ(
      "# TYPE nomad_fsm_apply summary\nnomad_fsm_apply_sum 6.0\nnomad_fsm_apply_count 2\n"
      "# TYPE nomad_heartbeat_active gauge\nnomad_heartbeat_active 3.0\n"
      "# TYPE nomad_rpc_Jobs_read counter\nnomad_rpc_Jobs_read{identity=\"a\\\"b\"} 2.0\n",
      to_prometheus(metrics.values()));
}

TEST(MetricsText, SummaryForm) {
  Metrics metrics;
  metrics.observe("t", 2ms);
  metrics.observe("t", 4ms);
  auto json = nlohmann::json::parse(to_summary(metrics.values(), 0));
  EXPECT_EQ(2, json["Samples"][0]["Count"]);
  EXPECT_EQ(3.0, json["Samples"][0]["Mean"]);
  EXPECT_TRUE(json["Gauges"].empty());
}

}  // namespace
}  // namespace drover::system
