#include <gtest/gtest.h>

#include "computed_class.h"
#include "driver_events.h"
#include "drover/v1/node.pb.h"
#include "heartbeats.h"
#include "node_evaluations.h"

namespace drover::nodes {
namespace {

using namespace std::chrono_literals;

TEST(ComputedClass, IgnoresWhatIsUniqueToAMachine) {
  v1::Node a;
  a.set_datacenter("dc1");
  (*a.mutable_attributes())["kernel.name"] = "linux";
  v1::Node b = a;
  (*b.mutable_attributes())["unique.hostname"] = "b";
  b.set_id("0123456789abcdef");
  b.set_status(v1::NODE_STATUS_READY);
  EXPECT_EQ(computed_class(a), computed_class(b));
  (*b.mutable_meta())["rack"] = "7";
  EXPECT_NE(computed_class(a), computed_class(b));
}

TEST(ComputedClass, PartsDoNotRunTogether) {
  v1::Node a, b;
  (*a.mutable_attributes())["ab"] = "c";
  (*b.mutable_attributes())["a"] = "bc";
  EXPECT_NE(computed_class(a), computed_class(b));
}

TEST(Heartbeats, SilentNodesAreReportedOnce) {
  Heartbeats beats({.minimum_ttl = 10s, .grace = 5s});
  const SteadyTime t0{};
  EXPECT_EQ(10s, beats.heard("a", t0, 0));
  beats.heard("b", t0 + 8s, 0);
  EXPECT_TRUE(beats.expired(t0 + 14s).empty());
  EXPECT_EQ(std::vector<std::string>{"a"}, beats.expired(t0 + 15s));
  EXPECT_TRUE(beats.expired(t0 + 15s).empty());
  EXPECT_EQ(t0 + 23s, *beats.next_deadline());
}

TEST(Heartbeats, TtlGrowsWithTheClusterAndIsSpread) {
  Heartbeats beats({.minimum_ttl = 1s, .max_per_second = 2});
  const SteadyTime t0{};
  for (int i = 0; i < 20; ++i) beats.heard(std::to_string(i), t0, 0);
  EXPECT_EQ(10s, beats.heard("0", t0, 0));
  EXPECT_EQ(15s, beats.heard("0", t0, 0.5));
}

TEST(Heartbeats, ANewLeaderWaitsLonger) {
  Heartbeats beats({.failover_ttl = 300s});
  const SteadyTime t0{};
  beats.expect("a", t0);
  EXPECT_TRUE(beats.expired(t0 + 299s).empty());
  EXPECT_EQ(1u, beats.expired(t0 + 300s).size());
}

v1::DriverInfo driver(bool is_healthy, const std::string& description) {
  v1::DriverInfo info;
  info.set_detected(true);
  info.set_healthy(is_healthy);
  info.set_health_description(description);
  return info;
}

TEST(DriverEvents, OneForEachDriverWhoseHealthHasChanged) {
  v1::Node before, now;
  (*before.mutable_drivers())["came_back"] = driver(false, "the plugin ended: signal 9 (Killed)");
  (*now.mutable_drivers())["came_back"] = driver(true, "Healthy");
  (*before.mutable_drivers())["fell_ill"] = driver(true, "Healthy");
  (*now.mutable_drivers())["fell_ill"] = driver(false, "the plugin is parked");
  (*now.mutable_drivers())["is_new"] = driver(true, "");
  (*before.mutable_drivers())["left"] = driver(true, "Healthy");
  (*before.mutable_drivers())["said_more"] = driver(true, "Healthy");
  (*now.mutable_drivers())["said_more"] = driver(true, "Healthy, 3 tasks");

  const auto events = driver_events(before, now, 42);

  std::vector<std::string> told;
  for (const v1::NodeEvent& event : events) {
    EXPECT_EQ(event.subsystem(), "Driver");
    EXPECT_EQ(event.timestamp(), 42);
    told.push_back(event.details().at("driver") + ": " + event.message());
  }
  EXPECT_EQ(told, (std::vector<std::string>{"came_back: Healthy", "fell_ill: the plugin is parked", "is_new: Healthy",
                                            "left: Not detected"}));
}

TEST(NodeStatus, ChangesThatConcernTheScheduler) {
  EXPECT_TRUE(concerns_scheduler(v1::NODE_STATUS_INITIALIZING, v1::NODE_STATUS_READY));
  EXPECT_TRUE(concerns_scheduler(v1::NODE_STATUS_READY, v1::NODE_STATUS_DOWN));
  EXPECT_TRUE(concerns_scheduler(v1::NODE_STATUS_DOWN, v1::NODE_STATUS_READY));
  EXPECT_FALSE(concerns_scheduler(v1::NODE_STATUS_READY, v1::NODE_STATUS_READY));
  EXPECT_FALSE(concerns_scheduler(v1::NODE_STATUS_DOWN, v1::NODE_STATUS_INITIALIZING));
}

}  // namespace
}  // namespace drover::nodes
