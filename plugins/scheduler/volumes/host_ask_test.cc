// Groups with dynamic host volumes on whole boards.
#include "volumes/host_ask.h"

#include <gtest/gtest.h>

#include <functional>

#include "placing/board.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

constexpr const char* kMissing = "missing compatible host volumes";

// Nodes, of which each has the volume "data" of its own, and a job that asks for it.
struct World {
  v1::Job job = make_job("service", 10);
  std::vector<v1::Node> nodes;
  std::vector<v1::DynamicHostVolume> volumes;
  std::vector<v1::HostVolumeClaim> claims;
  std::vector<v1::Job> jobs;
  std::vector<v1::Allocation> running;

  World() { ask(); }
  v1::TaskGroup& group() { return *job.mutable_task_groups(0); }
  v1::VolumeRequest& ask() {
    v1::VolumeRequest& request = (*group().mutable_volumes())["v"];
    request.set_type("host");
    request.set_source("data");
    return request;
  }
  v1::DynamicHostVolume& add_node(const std::string& name, const char* mode = "single-node-writer") {
    v1::Node& node = nodes.emplace_back(make_node(name, 100'000, 100'000));
    v1::DynamicHostVolume& volume = volumes.emplace_back();
    volume.set_id(id_of("vol-" + name));
    volume.set_namespace_("default");
    volume.set_name("data");
    volume.set_node_id(node.id());
    volume.set_step(v1::HOST_VOLUME_STEP_MADE);
    v1::CsiVolumeCapability& capability = *volume.add_requested_capabilities();
    capability.set_access_mode(mode);
    capability.set_attachment_mode("file-system");
    (*node.mutable_host_volumes())["data"].set_id(volume.id());
    return volume;
  }
  void claim(const std::string& node) {
    v1::HostVolumeClaim& claim = claims.emplace_back();
    claim.set_volume_id(id_of("vol-" + node));
  }
  void run(const v1::Job& other, int index, const std::string& node) {
    jobs.push_back(other);
    running.push_back(make_alloc(other, index, node));
  }
  StorageRows rows() const {
    return {.has_host_volumes = !volumes.empty(),
            .host_volume = [this](const std::string& name_space,
                                  const std::string& id) -> std::optional<v1::DynamicHostVolume> {
              for (const auto& volume : volumes) {
                if (volume.namespace_() == name_space && volume.id() == id) return volume;
              }
              return std::nullopt;
            },
            .sticky_claims = [this](const std::string&, const std::string&, const std::string&) { return claims; },
            .job = [this](const std::string&, const std::string& id, uint64_t) -> const v1::Job* {
              for (const v1::Job& known : jobs) {
                if (known.id() == id) return &known;
              }
              return id == job.id() ? &job : nullptr;
            },
            .alloc_name = [this](const std::string& id) -> std::optional<std::string> {
              for (const v1::Allocation& alloc : running) {
                if (alloc.id() == id) return alloc.name();
              }
              return std::nullopt;
            }};
  }
  ClusterBoard board(std::span<const v1::Allocation> own = {}) const {
    Cluster cluster;
    for (const v1::Node& node : nodes) cluster.put_node(std::make_shared<const v1::Node>(node));
    for (const v1::Allocation& alloc : running) cluster.add(alloc);
    return ClusterBoard(std::move(cluster), own, "seed", {}, {}, rows());
  }
  // The nodes of the allocations of one pass; "-" where there was no place.
  std::string place(int count, std::span<const v1::Allocation> own = {}) const {
    ClusterBoard board = this->board(own);
    const auto placer = board.open(job, job.task_groups(0));
    std::string placed;
    for (int i = 0; i < count; ++i) {
      v1::Allocation alloc;
      alloc.set_id(id_of("new" + std::to_string(i)));
      alloc.set_name("web.app[" + std::to_string(i) + "]");
      const bool is_placed = placer->place(alloc, {});
      placed += (placed.empty() ? "" : " ") + (is_placed ? alloc.node_name() : "-");
      if (!is_placed) {
        EXPECT_GT(placer->failure().constraint_filtered().count(kMissing), 0U);
      }
    }
    return placed;
  }
};

TEST(HostVolumeAsk, OnlyAReadyOneThatFitsWillDo) {
  struct Case {
    const char* name;
    std::function<void(World&)> edit;
    const char* placed;
  };
  const Case cases[] = {
      {"all well", [](World&) {}, "n1"},
      {"of another namespace", [](World& w) { w.volumes[0].set_namespace_("other"); }, "-"},
      {"forgotten",
       [](World& w) {
         w.volumes.clear();
         w.add_node("n2");
         w.ask().set_read_only(true);
       },
       "-"},
      {"being deleted", [](World& w) { w.volumes[0].set_step(v1::HOST_VOLUME_STEP_DELETING); }, "-"},
      {"being made anew", [](World& w) { w.volumes[0].set_step(v1::HOST_VOLUME_STEP_MAKING); }, "-"},
      {"another mode", [](World& w) { w.ask().set_access_mode("single-node-multi-writer"); }, "-"},
      {"as a device", [](World& w) { w.ask().set_attachment_mode("block-device"); }, "-"},
      {"to read, by default", [](World& w) { w.ask().set_read_only(true); }, "-"},
      {"a folder of the configuration", [](World& w) { w.nodes[0].mutable_host_volumes()->at("data").clear_id(); },
       "n1"},
      {"the same, sticky",
       [](World& w) {
         w.nodes[0].mutable_host_volumes()->at("data").clear_id();
         w.ask().set_sticky(true);
       },
       "-"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    world.add_node("n1");
    c.edit(world);
    EXPECT_EQ(world.place(1), c.placed);
  }
}

TEST(HostVolumeAsk, OneWriterKeepsTheOthersAway) {
  World world;
  world.add_node("n1", "single-node-single-writer");
  world.ask().set_access_mode("single-node-single-writer");
  EXPECT_EQ(world.place(2), "n1 -");
  world.add_node("n2", "single-node-single-writer");
  const std::string both = world.place(3);
  EXPECT_TRUE(both == "n1 n2 -" || both == "n2 n1 -") << both;

  v1::Job reader = world.job;
  reader.set_id("reader");
  reader.mutable_task_groups(0)->mutable_volumes()->at("v").set_read_only(true);
  world.run(reader, 0, "n1");
  EXPECT_NE(world.place(2).find("n1"), std::string::npos) << "readers do not matter";
  v1::Job writer = world.job;
  writer.set_id("writer");
  world.run(writer, 0, "n1");
  EXPECT_EQ(world.place(2), "n2 -");
  world.jobs.clear();
  EXPECT_EQ(world.place(1), "n2") << "of whom nothing is known";
}

TEST(HostVolumeAsk, ManyWriteWhereTheModeSaysSo) {
  World world;
  world.add_node("n1", "single-node-multi-writer");
  world.ask().set_access_mode("single-node-multi-writer");
  EXPECT_EQ(world.place(3), "n1 n1 n1");
  World usual;
  usual.add_node("n1");
  EXPECT_EQ(usual.place(2), "n1 n1") << "single-node-writer: on one node";
}

TEST(HostVolumeAsk, AReplacementOfTheSoleWriterTakesItsPlace) {
  World world;
  world.add_node("n1", "single-node-single-writer");
  world.ask().set_access_mode("single-node-single-writer");
  world.run(world.job, 0, "n1");
  EXPECT_EQ(world.place(1, world.running), "-");
  ClusterBoard board = world.board(world.running);
  board.leave(world.running[0]);
  const auto placer = board.open(world.job, world.job.task_groups(0));
  v1::Allocation alloc;
  alloc.set_id(id_of("new"));
  EXPECT_TRUE(placer->place(alloc, {}));
}

TEST(HostVolumeAsk, AStickyGroupGoesBackToItsVolume) {
  World world;
  for (const char* name : {"n1", "n2", "n3"}) world.add_node(name);
  world.ask().set_sticky(true);
  EXPECT_NE(world.place(1), "-") << "the first time anywhere";
  world.claim("n2");
  EXPECT_EQ(world.place(1), "n2");
  EXPECT_EQ(world.place(2).substr(0, 2), "n2") << "then any other";
  EXPECT_EQ(world.place(2).find('-'), std::string::npos);
  world.claim("n3");
  const std::string two = world.place(2);
  EXPECT_TRUE(two == "n2 n3" || two == "n3 n2") << two;

  // While an allocation of the group has the volume, nobody waits for it.
  world.run(world.job, 7, "n2");
  EXPECT_EQ(world.place(1), "n3");
  world.run(world.job, 8, "n3");
  EXPECT_NE(world.place(1), "-");
}

TEST(HostVolumeAsk, AStickyGroupWaitsForItsNode) {
  World world;
  for (const char* name : {"n1", "n2"}) world.add_node(name);
  world.ask().set_sticky(true);
  world.claim("n2");
  world.nodes[1].set_status(v1::NODE_STATUS_DOWN);
  EXPECT_EQ(world.place(1), "-");
  world.volumes.pop_back();
  EXPECT_EQ(world.place(1), "n1") << "a volume that is forgotten binds nobody";
}

TEST(HostVolumeAsk, WhatIsLackingIsWaitedFor) {
  World world;
  world.add_node("n1").set_step(v1::HOST_VOLUME_STEP_DELETING);
  ClusterBoard board = world.board();
  const auto placer = board.open(world.job, world.job.task_groups(0));
  v1::Allocation alloc;
  alloc.set_id(id_of("new"));
  EXPECT_FALSE(placer->place(alloc, {}));
  RoomWait wait;
  placer->describe(wait);
  EXPECT_TRUE(wait.volumes.contains("data"));
  EXPECT_FALSE(wait.only_storage.value_or(true)) << "a node may help as well";
}

TEST(HostVolumeAsk, NobodyIsAskedWhereThereAreNone) {
  World world;
  Cluster cluster;
  Storage storage(cluster, world.rows());
  EXPECT_TRUE(HostVolumeAsk(world.job, world.job.task_groups(0), &storage).empty());
  EXPECT_TRUE(HostVolumeAsk(world.job, world.job.task_groups(0), nullptr).empty());
}

}  // namespace
}  // namespace drover::scheduler
