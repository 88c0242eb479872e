#include "volumes/volume_ask.h"

#include <gtest/gtest.h>

#include <functional>

#include "placing/cluster.h"
#include "testing/storage_world.h"

namespace drover::scheduler {
namespace {

using testing::add_plugin;
using testing::ask_volume;
using testing::id_of;
using testing::make_job;
using testing::make_node;
using testing::StorageWorld;

// A job with one volume, "data", and a node that has its plugin.
struct World {
  StorageWorld storage;
  v1::Job job = make_job();
  v1::Node node = make_node("n1");

  World() {
    storage.add_volume("data");
    add_plugin(node);
    ask_volume(group(), "data");
  }
  v1::TaskGroup& group() { return *job.mutable_task_groups(0); }
  v1::VolumeRequest& request() { return group().mutable_volumes()->at("v"); }
  v1::CsiInfo& plugin() { return node.mutable_csi_node_plugins()->at("p"); }

  std::optional<VolumeProblem> check(const std::string& alloc_name = "web.app[0]") const {
    Cluster cluster;
    cluster.put_node(std::make_shared<const v1::Node>(node));
    Storage known(cluster, storage.rows());
    VolumeAsk ask(job, job.task_groups(0), &known);
    ask.ask_for(alloc_name);
    return ask.check(node);
  }
  std::string reason() const {
    const auto problem = check();
    return problem ? text_of(*problem, node) : "";
  }
};

constexpr const char* kN1 = "6e312e2e-2e2e-2e2e-2e2e-2e2e2e2e2e2e";

TEST(VolumeAsk, F6NamesTheReason) {
  const struct {
    const char* name;
    std::function<void(World&)> change;
    std::string reason;
  } cases[] = {
      {"all well", [](World&) {}, ""},
      {"no volume", [](World& w) { w.request().set_source("none"); }, "missing CSI Volume none"},
      {"no plugin", [](World& w) { w.node.clear_csi_node_plugins(); },
       std::string("CSI plugin p is missing from client ") + kN1},
      {"a sick plugin", [](World& w) { w.plugin().set_healthy(false); },
       std::string("CSI plugin p is unhealthy on client ") + kN1},
      {"as many volumes as may be",
       [](World& w) {
         w.plugin().mutable_node_info()->set_max_volumes(1);
         w.storage.claim("other", "db", "a1", "n1");
       },
       std::string("CSI plugin p has the maximum number of volumes on client ") + kN1},
      {"one less",
       [](World& w) {
         w.plugin().mutable_node_info()->set_max_volumes(2);
         w.storage.claim("other", "db", "a1", "n1");
       },
       ""},
      {"volumes of others do not count",
       [](World& w) {
         w.plugin().mutable_node_info()->set_max_volumes(1);
         w.storage.add_volume("other", "q");
         w.storage.claim("other", "db", "a1", "n1");
         w.storage.add_volume("far");
         w.storage.claim("far", "db", "a2", "n2");
       },
       ""},
      {"one that is there already takes no further place",
       [](World& w) {
         w.plugin().mutable_node_info()->set_max_volumes(1);
         w.request().set_access_mode("multi-node-multi-writer");
         w.storage.claim("data", "db", "a1", "n1", "multi-node-multi-writer");
       },
       ""},
      {"out of reach", [](World& w) { (*w.storage.volume("data").add_topologies()->mutable_segments())["zone"] = "a"; },
       "did not meet topology requirement"},
      {"within reach",
       [](World& w) {
         (*w.storage.volume("data").add_topologies()->mutable_segments())["zone"] = "a";
         (*w.plugin().mutable_node_info()->mutable_accessible_topology()->mutable_segments())["zone"] = "a";
       },
       ""},
      {"to be read, no controller",
       [](World& w) {
         w.request().set_read_only(true);
         w.plugin().set_requires_controller_plugin(true);
       },
       "CSI volume data is unschedulable or has exhausted its available reader claims"},
      {"to be written, no controller", [](World& w) { w.plugin().set_requires_controller_plugin(true); },
       "CSI volume data is unschedulable or is read-only"},
      {"to be written in a mode of readers", [](World& w) { w.request().set_access_mode("multi-node-reader-only"); },
       "CSI volume data is unschedulable or is read-only"},
      {"a writer of another job", [](World& w) { w.storage.claim("data", "db", "a1", "n2"); },
       "CSI volume data has exhausted its available writer claims"},
      {"a writer of the own job", [](World& w) { w.storage.claim("data", "web", "a1", "n2"); }, ""},
      {"a reader beside a writer of another job",
       [](World& w) {
         w.request().set_read_only(true);
         w.storage.claim("data", "db", "a1", "n2");
       },
       "CSI volume data is unschedulable or has exhausted its available reader claims"},
      {"a writer that was collected",
       [](World& w) {
         w.storage.claim("data", "web", "a1", "n2");
         w.storage.allocs.clear();
       },
       "CSI volume data has exhausted its available writer claims and is claimed by a garbage collected allocation "
       "61312e2e-2e2e-2e2e-2e2e-2e2e2e2e2e2e; waiting for claim to be released"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    c.change(world);
    EXPECT_EQ(world.reason(), c.reason);
  }
}

TEST(VolumeAsk, WithoutStorageThereIsNoVolume) {
  const World world;
  VolumeAsk ask(world.job, world.job.task_groups(0), nullptr);
  const auto problem = ask.check(world.node);
  ASSERT_TRUE(problem);
  EXPECT_EQ(text_of(*problem, world.node), "missing CSI Volume data");
}

TEST(VolumeAsk, OfEachAllocationTheVolumeIsItsOwn) {
  World world;
  world.request().set_per_alloc(true);
  world.storage.add_volume("data[1]");
  EXPECT_EQ(text_of(*world.check("web.app[0]"), world.node), "missing CSI Volume data[0]");
  EXPECT_FALSE(world.check("web.app[1]"));
}

TEST(VolumeAsk, TwoVolumesOfOneAllocationTakeTwoPlaces) {
  World world;
  world.storage.add_volume("logs");
  ask_volume(world.group(), "logs", "single-node-writer", "w");
  world.plugin().mutable_node_info()->set_max_volumes(2);
  EXPECT_EQ(world.reason(), "");
  world.plugin().mutable_node_info()->set_max_volumes(1);
  EXPECT_EQ(world.check()->kind, VolumeProblem::Kind::full);
  EXPECT_EQ(world.check()->volume, "logs");
}

TEST(VolumeAsk, SaysWhatWouldHelp) {
  const struct {
    const char* name;
    std::function<void(World&)> change;
    const char* remedy;
  } cases[] = {
      {"no volume", [](World& w) { w.request().set_source("none"); }, "register the volume \"none\""},
      {"no plugin", [](World& w) { w.node.clear_csi_node_plugins(); }, "run the plugin \"p\" there"},
      {"a sick plugin", [](World& w) { w.plugin().set_healthy(false); }, "have the plugin \"p\" healthy there"},
      {"full",
       [](World& w) {
         w.plugin().mutable_node_info()->set_max_volumes(1);
         w.storage.claim("other", "db", "a1", "n1");
       },
       "free one of the 1 volumes that the plugin \"p\" takes there"},
      {"out of reach", [](World& w) { (*w.storage.volume("data").add_topologies()->mutable_segments())["zone"] = "a"; },
       "have the volume \"data\" where it can be reached from there"},
      {"no controller", [](World& w) { w.plugin().set_requires_controller_plugin(true); },
       "have the plugin \"p\" healthy, with a controller, for the volume \"data\""},
      {"another capability", [](World& w) { w.request().set_access_mode("multi-node-single-writer"); },
       "ask for the volume \"data\" in a mode that it is registered for"},
      {"another mode", [](World& w) { w.storage.claim("data", "db", "a1", "n2", "multi-node-multi-writer"); },
       "ask for the volume \"data\" in the mode in which it is used, or wait until allocation 61312e2e of job \"db\" "
       "releases it"},
      {"a mode of readers", [](World& w) { w.request().set_access_mode("multi-node-reader-only"); },
       "ask for the volume \"data\" read-only, or in a mode that lets it be written"},
      {"a writer", [](World& w) { w.storage.claim("data", "db", "a1", "n2"); },
       "wait until allocation 61312e2e of job \"db\" releases the volume \"data\""},
      {"a collected writer",
       [](World& w) {
         w.storage.claim("data", "db", "a1", "n2");
         w.storage.allocs.clear();
       },
       "wait until the claim of allocation 61312e2e of job \"db\" on the volume \"data\" is undone, or detach it"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    c.change(world);
    const auto problem = world.check();
    EXPECT_EQ(problem ? remedy_for(*problem) : "", c.remedy);
  }
}

TEST(VolumeAsk, OnlyWhatMayHaveChangedIsAskedAgain) {
  World world;
  world.request().set_per_alloc(true);
  for (const char* id : {"data[0]", "data[1]", "data[2]"}) world.storage.add_volume(id);
  world.storage.claim("data[2]", "web", "a1", "n2");
  (*world.storage.add_volume("data[3]").add_topologies()->mutable_segments())["zone"] = "a";
  Cluster cluster;
  cluster.put_node(std::make_shared<const v1::Node>(world.node));
  Storage storage(cluster, world.storage.rows());
  VolumeAsk ask(world.job, world.job.task_groups(0), &storage);
  EXPECT_TRUE(ask.ask_for("web.app[0]").all) << "the first time";
  ask.take(id_of("new"), id_of("n1"));
  const auto next = ask.ask_for("web.app[1]");
  EXPECT_FALSE(next.all);
  EXPECT_EQ(next.nodes, (std::set<std::string>{id_of("n1")})) << "where the one before was placed";
  EXPECT_EQ(ask.ask_for("web.app[2]").nodes, (std::set<std::string>{id_of("n2")})) << "where this one is";
  EXPECT_TRUE(ask.ask_for("web.app[3]").all) << "it is reached from elsewhere";
  EXPECT_TRUE(ask.ask_for("web.app[4]").all) << "there is none";
  EXPECT_TRUE(ask.ask_for("web.app[0]").all) << "it is taken by now";
  EXPECT_FALSE(ask.ask_for("web.app[0]").all);
}

TEST(VolumeAsk, TellsWhatAnEvaluationWaitsFor) {
  const auto wait_of = [](World& world) {
    Cluster cluster;
    cluster.put_node(std::make_shared<const v1::Node>(world.node));
    Storage storage(cluster, world.storage.rows());
    VolumeAsk ask(world.job, world.job.task_groups(0), &storage);
    ask.ask_for("web.app[0]");
    (void)ask.check(world.node);
    RoomWait wait;
    ask.describe(wait);
    return wait;
  };
  using Names = std::set<std::string>;
  World missing;
  missing.request().set_source("none");
  EXPECT_EQ(wait_of(missing).volumes, Names{"none"});
  EXPECT_EQ(wait_of(missing).only_storage, true);
  World sick;
  sick.plugin().set_requires_controller_plugin(true);
  EXPECT_EQ(wait_of(sick).plugins, Names{"p"});
  EXPECT_EQ(wait_of(sick).only_storage, true);
  World full;
  full.plugin().mutable_node_info()->set_max_volumes(1);
  full.storage.claim("other", "db", "a1", "n1");
  EXPECT_EQ(wait_of(full).plugins, Names{"p"});
  EXPECT_EQ(wait_of(full).volumes, Names{});
  EXPECT_EQ(wait_of(full).only_storage, false) << "another node may do";
  World well;
  EXPECT_EQ(wait_of(well).plugins, Names{});
  EXPECT_EQ(wait_of(well).only_storage, false);
}

}  // namespace
}  // namespace drover::scheduler
