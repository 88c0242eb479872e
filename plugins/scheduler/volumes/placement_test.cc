// Groups with volumes on whole boards: what one pass places, and what others placed before it.
#include <gtest/gtest.h>

#include "drover/model/allocation.h"
#include "placing/board.h"
#include "testing/storage_world.h"

namespace drover::scheduler {
namespace {

using testing::add_plugin;
using testing::ask_volume;
using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;
using testing::StorageWorld;

struct World {
  StorageWorld storage;
  v1::Job job = make_job("service", 10);
  std::vector<v1::Node> nodes;
  std::vector<v1::Allocation> own;
  ComingClaims coming = {};

  v1::TaskGroup& group() { return *job.mutable_task_groups(0); }
  v1::CsiInfo& add_node(const std::string& name, int64_t limit = 0) {
    return add_plugin(nodes.emplace_back(make_node(name, 100'000, 100'000)), "p", limit);
  }
  ClusterBoard board() const {
    Cluster cluster;
    for (const v1::Node& node : nodes) cluster.put_node(std::make_shared<const v1::Node>(node));
    cluster.set_coming_claims(coming.all());
    return ClusterBoard(std::move(cluster), own, "seed", {}, {}, storage.rows());
  }
  // The nodes of the allocations of one pass, by number; "-" where there was no place.
  std::vector<std::string> place(int count) const {
    ClusterBoard all = board();
    const auto placer = all.open(job, job.task_groups(0));
    std::vector<std::string> placed;
    for (int i = 0; i < count; ++i) {
      v1::Allocation alloc;
      alloc.set_id(id_of("new" + std::to_string(i)));
      alloc.set_name("web.app[" + std::to_string(i) + "]");
      placed.push_back(placer->place(alloc, {}) ? alloc.node_name() : "-");
    }
    return placed;
  }
  size_t number_placed(int count) const {
    const auto placed = place(count);
    return placed.size() - static_cast<size_t>(std::ranges::count(placed, "-"));
  }
};

TEST(PlacementWithVolumes, OnePassPromisesAWriterOnce) {
  World world;
  world.storage.add_volume("data");
  for (const char* name : {"n1", "n2", "n3"}) world.add_node(name);
  ask_volume(world.group(), "data");
  EXPECT_EQ(world.number_placed(3), 1U);
  world.group().mutable_volumes()->at("v").set_access_mode("multi-node-multi-writer");
  EXPECT_EQ(world.number_placed(3), 3U);
}

TEST(PlacementWithVolumes, TwoGroupsOfOnePassDoNotTakeTheSameWriter) {
  World world;
  world.storage.add_volume("data");
  world.add_node("n1");
  ask_volume(world.group(), "data");
  *world.job.add_task_groups() = world.job.task_groups(0);
  world.job.mutable_task_groups(1)->set_name("second");
  ClusterBoard board = world.board();
  const auto first = board.open(world.job, world.job.task_groups(0));
  const auto second = board.open(world.job, world.job.task_groups(1));
  v1::Allocation alloc, other;
  alloc.set_id(id_of("a"));
  other.set_id(id_of("b"));
  EXPECT_TRUE(first->place(alloc, {}));
  EXPECT_FALSE(second->place(other, {}));
  EXPECT_EQ(second->failure().constraint_filtered().count("CSI volume data has exhausted its available writer claims"),
            1U);
}

TEST(PlacementWithVolumes, EachAllocationHasItsOwn) {
  World world;
  world.add_node("n1", 2);
  world.add_node("n2", 1);
  for (const char* id : {"data[0]", "data[1]", "data[3]", "data[4]"}) world.storage.add_volume(id);
  ask_volume(world.group(), "data").set_per_alloc(true);
  const auto placed = world.place(5);
  EXPECT_EQ(placed[2], "-") << "there is none";
  EXPECT_EQ(placed[4], "-") << "no node takes one more";
  EXPECT_EQ(std::ranges::count(placed, "n1"), 2);
  EXPECT_EQ(std::ranges::count(placed, "n2"), 1);
}

TEST(PlacementWithVolumes, OfTheTypeHostEachGoesWhereItIs) {
  World world;
  for (int i = 0; i < 3; ++i) {
    v1::Node& node = world.nodes.emplace_back(make_node("n" + std::to_string(i)));
    (*node.mutable_host_volumes())["data[" + std::to_string(i) + "]"].set_name("data");
  }
  v1::VolumeRequest& request = (*world.group().mutable_volumes())["v"];
  request.set_type("host");
  request.set_source("data");
  request.set_per_alloc(true);
  EXPECT_EQ(world.place(4), (std::vector<std::string>{"n0", "n1", "n2", "-"}));
}

TEST(PlacementWithVolumes, WhoHasYetToClaimCounts) {
  World world;
  world.add_node("n1", 1);
  world.storage.add_volume("data");
  world.storage.add_volume("logs");
  v1::Job other = make_job();
  other.set_id("other");
  ask_volume(*other.mutable_task_groups(0), "data");
  world.coming.put_job(other);
  world.coming.put(make_alloc(other, 0, "n1"));
  ask_volume(world.group(), "data");
  EXPECT_EQ(world.number_placed(1), 0U) << "the writer is promised";
  world.group().mutable_volumes()->at("v").set_source("logs");
  EXPECT_EQ(world.number_placed(1), 0U) << "the place on the node, too";
  world.add_node("n2", 1);
  EXPECT_EQ(world.place(1), std::vector<std::string>{"n2"});
}

TEST(PlacementWithVolumes, ADecisionOnTwoNodesNamesEach) {
  World world;
  for (int i = 10; i < 40; ++i) {
    world.nodes.push_back(make_node("n" + std::to_string(i)));
    world.nodes.back().clear_csi_node_plugins();
  }
  world.storage.add_volume("data");
  ask_volume(world.group(), "data");
  ClusterBoard board = world.board();
  const auto placer = board.open(world.job, world.job.task_groups(0));
  v1::Allocation alloc;
  EXPECT_FALSE(placer->place(alloc, {}));
  const auto& reasons = placer->failure().constraint_filtered();
  EXPECT_EQ(reasons.size(), kNodesNamed + 1);
  EXPECT_EQ(reasons.at("CSI plugin p is missing from clients beside these"), 30 - static_cast<int>(kNodesNamed));
  EXPECT_EQ(placer->failure().nodes_filtered(), 30);
}

}  // namespace
}  // namespace drover::scheduler
