#include "drain_step.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace drover::drain {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'000'000 * kSecond;

// Nodes a and b drain, c does not; one job with allocations on them.
struct World {
  DrainInput input;

  explicit World(const std::string& type = "service", int count = 4, int max_parallel = 1) {
    input.now = kNow;
    add_node("a");
    v1::Job job;
    job.set_id("web");
    job.set_type(type);
    v1::TaskGroup& group = *job.add_task_groups();
    group.set_name("app");
    group.set_count(count);
    group.mutable_migrate()->set_max_parallel(max_parallel);
    input.jobs.push_back({.job = job, .allocs = {}});
  }
  v1::DrainStrategy& add_node(const std::string& id) {
    v1::Node& node = input.nodes.emplace_back();
    node.set_id(id);
    node.set_drain(true);
    return *node.mutable_drain_strategy();
  }
  v1::DrainStrategy& strategy() { return *input.nodes[0].mutable_drain_strategy(); }
  v1::Allocation& add(const std::string& node, bool healthy = true) {
    auto& allocs = input.jobs[0].allocs;
    v1::Allocation& alloc = allocs.emplace_back();
    alloc.set_id("alloc" + std::to_string(allocs.size()));
    alloc.set_name(alloc.id());
    alloc.set_task_group("app");
    alloc.set_node_id(node);
    alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
    alloc.set_client_status(v1::CLIENT_STATUS_RUNNING);
    alloc.set_deployment_id("d");
    if (healthy) alloc.mutable_deployment_status()->set_healthy(true);
    return alloc;
  }
  void add(int number, const std::string& node) {
    for (int i = 0; i < number; ++i) add(node);
  }
  std::vector<std::string> moves() const {
    std::vector<std::string> ids;
    for (const DrainStep::Move& move : drain_step(input).moves) ids.push_back(move.alloc_id);
    return ids;
  }
  bool is_done() const { return !drain_step(input).done.empty(); }
};

TEST(DrainStep, ServicesMoveSoManyAtATime) {
  struct Case {
    const char* name;
    int max_parallel, healthy, in_doubt, marked;
    size_t moves;
  };
  const Case cases[] = {{"one of four", 1, 4, 0, 0, 1},          {"two of four", 2, 4, 0, 0, 2},
                        {"one was told already", 1, 3, 0, 1, 0}, {"its successor is in doubt", 1, 3, 1, 0, 0},
                        {"one of two has come", 2, 3, 1, 0, 1},  {"all at once", 9, 4, 0, 0, 4}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world("service", 4, c.max_parallel);
    world.add(c.healthy, "a");
    for (int i = 0; i < c.in_doubt; ++i) world.add("c", /*healthy=*/false);
    for (int i = 0; i < c.marked; ++i) world.add("a").mutable_desired_transition()->set_migrate(true);
    EXPECT_EQ(world.moves().size(), c.moves);
    EXPECT_FALSE(world.is_done());
  }
}

TEST(DrainStep, CountsTheHealthyOnesElsewhere) {
  World world("service", 4, 1);
  world.add(1, "a");
  world.add(3, "c");
  EXPECT_EQ(world.moves(), std::vector<std::string>{"alloc1"});
}

TEST(DrainStep, WithoutADeploymentWhatRunsIsHealthy) {
  World world("service", 1, 1);
  world.add("a", /*healthy=*/false).clear_deployment_id();
  EXPECT_EQ(world.moves().size(), 1U);
}

TEST(DrainStep, BatchWorkEndsByItself) {
  World world("batch");
  world.add(2, "a");
  EXPECT_TRUE(world.moves().empty());
  EXPECT_FALSE(world.is_done());
  for (v1::Allocation& alloc : world.input.jobs[0].allocs) alloc.set_client_status(v1::CLIENT_STATUS_COMPLETE);
  EXPECT_TRUE(world.is_done());
}

TEST(DrainStep, AStoppedOneCountsUntilItsNodeSaysThatItEnded) {
  World world;
  world.add("a").set_desired_status(v1::DESIRED_STATUS_STOP);
  EXPECT_FALSE(world.is_done());
  world.input.jobs[0].allocs[0].set_client_status(v1::CLIENT_STATUS_COMPLETE);
  EXPECT_TRUE(world.is_done());
}

TEST(DrainStep, SystemWorkMovesLastOrStays) {
  World world("batch");
  world.add("a");
  world.input.jobs.push_back(world.input.jobs[0]);
  world.input.jobs[1].job->set_type("system");
  world.input.jobs[1].allocs[0].set_id("system");
  EXPECT_TRUE(world.moves().empty());
  world.input.jobs[0].allocs[0].set_client_status(v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ(world.moves(), std::vector<std::string>{"system"});
  EXPECT_FALSE(world.is_done());
  world.strategy().set_ignore_system_jobs(true);
  EXPECT_TRUE(world.moves().empty());
  EXPECT_TRUE(world.is_done());
}

TEST(DrainStep, StoragePluginsLeaveAsSystemWorkDoes) {
  World world("service", 1);
  world.add("a");
  v1::Job plugin = *world.input.jobs[0].job;
  plugin.set_id("storage");
  v1::Task& task = *plugin.mutable_task_groups(0)->add_tasks();
  task.mutable_csi_plugin_config()->set_id("p");
  v1::Allocation alloc = world.input.jobs[0].allocs[0];
  alloc.set_id("plugin");
  world.input.jobs.push_back({.job = plugin, .allocs = {alloc}});

  EXPECT_EQ(world.moves(), std::vector<std::string>{"alloc1"});
  world.input.jobs[0].allocs[0].set_client_status(v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ(world.moves(), std::vector<std::string>{"plugin"});
  EXPECT_FALSE(world.is_done());
  world.strategy().set_ignore_system_jobs(true);
  EXPECT_EQ(world.moves(), std::vector<std::string>{});
  EXPECT_TRUE(world.is_done());
}

TEST(DrainStep, AnEmptyNodeIsDoneAtOnce) {
  const World world;
  const DrainStep step = drain_step(world.input);
  ASSERT_EQ(step.done.size(), 1U);
  EXPECT_FALSE(step.done[0].deadline_reached);
}

TEST(DrainStep, AtTheDeadlineEverythingMovesAndTheNodeIsDone) {
  for (const char* type : {"service", "batch", "system"}) {
    SCOPED_TRACE(type);
    World world(type);
    world.add(3, "a");
    world.strategy().set_force_deadline(kNow);
    EXPECT_EQ(world.moves().size(), 3U);
    const DrainStep step = drain_step(world.input);
    ASSERT_EQ(step.done.size(), 1U);
    EXPECT_TRUE(step.done[0].deadline_reached);
  }
}

TEST(DrainStep, ANegativeDeadlineIsOverAtOnce) {
  World world("batch");
  world.add(2, "a");
  world.strategy().set_deadline(-1);
  EXPECT_EQ(world.moves().size(), 2U);
}

TEST(DrainStep, LooksAgainAtTheNextDeadline) {
  World world("batch");
  world.add(1, "a");
  world.strategy().set_force_deadline(kNow + 60 * kSecond);
  world.add_node("b").set_force_deadline(kNow + 30 * kSecond);
  world.add(1, "b");
  EXPECT_EQ(drain_step(world.input).look_again_at, kNow + 30 * kSecond);
}

TEST(DrainStep, DeadlinesCloseToEachOtherAreOne) {
  World world("batch");
  world.add(1, "a");
  world.strategy().set_force_deadline(kNow);
  world.add_node("b").set_force_deadline(kNow + 3 * kSecond);
  world.add(1, "b");
  EXPECT_EQ(drain_step(world.input).done.size(), 2U);
  world.input.nodes[1].mutable_drain_strategy()->set_force_deadline(kNow + 6 * kSecond);
  EXPECT_EQ(drain_step(world.input).done.size(), 1U);
}

TEST(DrainStep, WhatTheJobNoLongerWantsMovesAtOnce) {
  World world;
  world.add(3, "a");
  world.input.jobs[0].job->mutable_task_groups(0)->set_name("other");
  EXPECT_EQ(world.moves().size(), 3U);
}

}  // namespace
}  // namespace drover::drain
