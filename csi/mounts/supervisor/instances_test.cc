#include "supervisor/instances.h"

#include "drover/v1/node.pb.h"
#include "gtest/gtest.h"

namespace drover::mounts {
namespace {

std::shared_ptr<const Instance> instance(const std::string& plugin, const std::string& type = "monolith") {
  return std::make_shared<const Instance>(Instance{.plugin_id = plugin,
                                                   .type = type,
                                                   .alloc = Uuid::random(),
                                                   .base = "/b",
                                                   .base_seen = "/s",
                                                   .client = nullptr});
}

std::shared_ptr<const v1::CsiInfo> info(const std::string& plugin, bool healthy, int64_t time = 0) {
  v1::CsiInfo out;
  out.set_plugin_id(plugin);
  out.set_healthy(healthy);
  out.set_update_time(time);
  return std::make_shared<const v1::CsiInfo>(out);
}
Described both(const std::string& plugin, bool healthy, int64_t time = 0) {
  return {.controller = info(plugin, healthy, time), .node = info(plugin, healthy, time)};
}

TEST(Instances, TheNewestHealthyOneIsAskedAndTheFormerReturns) {
  Instances instances;
  const auto old = instance("p"), young = instance("p");
  instances.add(old, both("p", true));
  const uint64_t second = instances.add(young, both("p", true));
  EXPECT_EQ(instances.find(Side::node, "p")->instance, young);

  instances.describe(second, both("p", false));
  EXPECT_EQ(instances.find(Side::node, "p")->instance, old);
  instances.describe(second, both("p", true));
  EXPECT_EQ(instances.find(Side::node, "p")->instance, young);
  instances.remove(second);
  EXPECT_EQ(instances.find(Side::node, "p")->instance, old);
}

TEST(Instances, OneThatWillComeAgainStaysKnown) {
  Instances instances;
  v1::Node node;
  const uint64_t first = instances.add(instance("p"), both("p", true));
  instances.fade(first, "it has ended", 7);
  EXPECT_FALSE(instances.find(Side::node, "p").ok());
  instances.refresh(node);
  EXPECT_EQ(node.csi_node_plugins().at("p").health_description(), "it has ended");
  EXPECT_EQ(node.csi_controller_plugins().at("p").update_time(), 7);

  const uint64_t next = instances.add(instance("p"), both("p", false));
  instances.refresh(node);
  EXPECT_EQ(node.csi_node_plugins().at("p").health_description(), "") << "the words of the next one";
  instances.remove(first);
  instances.remove(next);
  instances.refresh(node);
  EXPECT_TRUE(node.csi_node_plugins().empty());
  instances.fade(next, "nobody", 8);
}

TEST(Instances, SayWhichPluginIsMissing) {
  Instances instances;
  instances.add(instance("p", "node"), {.controller = nullptr, .node = info("p", true)});
  instances.add(instance("q"), both("q", false));

  EXPECT_TRUE(instances.find(Side::node, "p").ok());
  EXPECT_EQ(instances.find(Side::controller, "p").status(),
            unavailable("no healthy controller plugin \"p\" on this node"));
  EXPECT_EQ(instances.find(Side::node, "q").status(), unavailable("no healthy node plugin \"q\" on this node"));
  EXPECT_EQ(instances.find(Side::node, "r").status().code(), Code::unavailable);
}

TEST(Instances, AreShownOnTheNodeWhenTheySayAnotherThing) {
  Instances instances;
  v1::Node node;
  EXPECT_FALSE(instances.refresh(node));
  const uint64_t number = instances.add(instance("p"), both("p", true, 1));
  EXPECT_TRUE(instances.refresh(node));
  EXPECT_TRUE(node.csi_node_plugins().at("p").healthy());
  EXPECT_TRUE(node.csi_controller_plugins().at("p").healthy());

  instances.describe(number, both("p", true, 2));  // the time alone is no news
  EXPECT_FALSE(instances.refresh(node));
  EXPECT_EQ(node.csi_node_plugins().at("p").update_time(), 1);
  instances.describe(number, both("p", false, 3));
  EXPECT_TRUE(instances.refresh(node));
  EXPECT_FALSE(node.csi_node_plugins().at("p").healthy());
  instances.remove(number);
  EXPECT_TRUE(instances.refresh(node));
  EXPECT_TRUE(node.csi_node_plugins().empty());
}

TEST(Instances, TellOfNewsOnly) {
  Instances instances;
  int told = 0, watched = 0;
  instances.when_changed([&] { ++told; });
  instances.watch([&] { ++watched; });
  const uint64_t number = instances.add(instance("p"), both("p", true));
  instances.describe(number, both("p", true, 7));
  EXPECT_EQ(told, 1);
  instances.describe(number, both("p", false));
  instances.remove(number);
  instances.remove(number);
  EXPECT_EQ(told, 3);
  EXPECT_EQ(watched, 3);
}

}  // namespace
}  // namespace drover::mounts
