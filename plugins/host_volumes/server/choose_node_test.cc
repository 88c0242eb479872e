#include "server/choose_node.h"

#include <gtest/gtest.h>

#include "drover/v1/host_volume.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::host_volumes {
namespace {

v1::Node node(const char* name, const char* pool = "default", v1::NodeStatus status = v1::NODE_STATUS_READY) {
  v1::Node node;
  node.set_id((name + std::string(16, '.')).substr(0, 16));
  node.set_name(name);
  node.set_node_pool(pool);
  node.set_status(status);
  (*node.mutable_attributes())[plugin_attribute("mkdir")] = "0.0.1";
  return node;
}

TEST(HostVolumePlacement, GoesWhereFewestAreAmongThoseThatMayHaveIt) {
  const v1::Node a = node("a"), b = node("b"), gpu = node("c", "gpu"),
                 down = node("d", "default", v1::NODE_STATUS_DOWN);
  v1::Node bare = node("e");
  bare.clear_attributes();
  v1::DynamicHostVolume volume;
  volume.set_plugin_id("mkdir");
  std::vector<Candidate> all = {{.node = &down},
                                {.node = &bare},
                                {.node = &a, .volumes = 2},
                                {.node = &b, .volumes = 1},
                                {.node = &gpu, .volumes = 3}};
  EXPECT_EQ((*choose_node(all, volume))->name(), "b");
  all[3].has_name = true;
  EXPECT_EQ((*choose_node(all, volume))->name(), "a");
  volume.set_node_pool("gpu");
  EXPECT_EQ((*choose_node(all, volume))->name(), "c");
  v1::Constraint& constraint = *volume.add_constraints();
  constraint.set_l_target("${node.unique.name}");
  constraint.set_operand("=");
  constraint.set_r_target("a");
  EXPECT_EQ(
      choose_node(all, volume).status(),
      failed_precondition("no node meets constraints: 1 nodes had existing volume, 1 nodes are not ready, 3 nodes "
                          "were infeasible"));
}

TEST(HostVolumePlacement, ANodeThatWasNamedMustFit) {
  v1::DynamicHostVolume volume;
  volume.set_plugin_id("lvm");
  const std::string start = "node 612e2e2e-2e2e-2e2e-2e2e-2e2e2e2e2e2e is not feasible for volume: ";
  EXPECT_EQ(may_have(node("a"), volume), failed_precondition(start + "it does not have the plugin \"lvm\""));
  EXPECT_EQ(may_have(node("a", "default", v1::NODE_STATUS_DOWN), volume),
            failed_precondition(start + "it is not ready"));
  volume.set_is_registered(true);
  EXPECT_TRUE(may_have(node("a"), volume).ok()) << "nobody makes it";
  volume.set_node_pool("gpu");
  EXPECT_EQ(may_have(node("a"), volume), failed_precondition(start + "it is not in pool \"gpu\""));
}

}  // namespace
}  // namespace drover::host_volumes
