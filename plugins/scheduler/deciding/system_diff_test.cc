#include "system_diff.h"

#include <gtest/gtest.h>

#include "descriptions.h"
#include "testing/reconcile_world.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::kNow;
using testing::kSecond;
using testing::make_alloc;
using testing::make_job;

struct World {
  v1::Job job = make_job("system");
  std::map<uint64_t, v1::Job> versions;
  std::vector<v1::Allocation> allocs;
  std::set<std::string> nodes;  // that take work
  std::set<std::string> down, away, elsewhere;
  bool sysbatch = false;

  explicit World(int count) {
    for (int i = 0; i < count; ++i) nodes.insert(id_of("n" + std::to_string(i)));
  }
  void run_everywhere() {
    for (size_t i = 0; i < nodes.size(); ++i) {
      v1::Allocation& alloc = allocs.emplace_back(make_alloc(job, 0, "n" + std::to_string(i)));
      alloc.set_name("web.app[0]");
    }
  }
  void leave(const std::string& node, std::set<std::string>& as) {
    nodes.erase(id_of(node));
    as.insert(id_of(node));
  }
  void next_destructive_version() {
    versions[job.version()] = job;
    job.set_version(job.version() + 1);
    job.mutable_task_groups(0)->mutable_tasks(0)->set_user("other");
  }
  SystemDiff all() const {
    SystemInput input;
    input.job = &job;
    input.is_sysbatch = sysbatch;
    input.allocs = allocs;
    input.nodes = nodes;
    input.node_status = [this](const std::string& id) {
      return down.contains(id)   ? v1::NODE_STATUS_DOWN
             : away.contains(id) ? v1::NODE_STATUS_DISCONNECTED
                                 : v1::NODE_STATUS_READY;
    };
    input.in_reach = [this](const std::string& id) { return !elsewhere.contains(id); };
    input.version = [this](uint64_t version) -> const v1::Job* {
      auto at = versions.find(version);
      return at == versions.end() ? nullptr : &at->second;
    };
    input.may_stay = [](const v1::Allocation&, const v1::TaskGroup&) { return true; };
    input.now = kNow;
    return system_diff(input);
  }
  SystemGroupPlan plan() const { return all().groups["app"]; }
};

TEST(SystemDiff, PlacesOneOnEachNode) {
  World world(10);
  EXPECT_EQ(world.plan().placements.size(), 10U);
  EXPECT_EQ(world.plan().placements[0].name, "web.app[0]");
  world.run_everywhere();
  EXPECT_TRUE(world.plan().placements.empty());
  EXPECT_EQ(world.plan().desired.ignore(), 10U);
  world.nodes.insert(id_of("new"));
  const SystemGroupPlan plan = world.plan();
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_EQ(plan.placements[0].node_id, id_of("new"));
}

TEST(SystemDiff, AGroupMayCountMoreThanOne) {
  World world(2);
  world.job.mutable_task_groups(0)->set_count(3);
  EXPECT_EQ(world.plan().placements.size(), 6U);
  world.run_everywhere();
  EXPECT_EQ(world.plan().placements.size(), 4U);
  world.job.mutable_task_groups(0)->set_count(0);
  EXPECT_EQ(world.plan().stops.size(), 2U);
}

TEST(SystemDiff, WhatBecomesOfAnAllocationWhoseNodeChanged) {
  struct Case {
    const char* name;
    void (*change)(World& world);
    const char* stopped;  // description; empty: it stays
    v1::ClientStatus client_status;
  };
  const Case cases[] = {
      {"down", [](World& w) { w.leave("n0", w.down); }, kLost, v1::CLIENT_STATUS_LOST},
      {"out of reach", [](World& w) { w.leave("n0", w.away); }, kLost, v1::CLIENT_STATUS_LOST},
      {"drained",
       [](World& w) {
         w.nodes.erase(id_of("n0"));
         w.allocs[0].mutable_desired_transition()->set_migrate(true);
       },
       kNodeTainted, v1::CLIENT_STATUS_UNSPECIFIED},
      {"ineligible", [](World& w) { w.nodes.erase(id_of("n0")); }, "", v1::CLIENT_STATUS_UNSPECIFIED},
      {"its datacenter left the job", [](World& w) { w.leave("n0", w.elsewhere); }, kNotNeeded,
       v1::CLIENT_STATUS_UNSPECIFIED},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world(3);
    world.run_everywhere();
    c.change(world);
    const SystemGroupPlan plan = world.plan();
    EXPECT_TRUE(plan.placements.empty());
    ASSERT_EQ(plan.stops.size(), *c.stopped ? 1U : 0U);
    if (!*c.stopped) continue;
    EXPECT_EQ(plan.stops[0].alloc_id, world.allocs[0].id());
    EXPECT_EQ(plan.stops[0].description, c.stopped);
    EXPECT_EQ(plan.stops[0].client_status, c.client_status);
  }
}

TEST(SystemDiff, UpdatesSoManyAtATime) {
  World world(10);
  world.run_everywhere();
  world.next_destructive_version();
  EXPECT_EQ(world.plan().placements.size(), 10U);
  world.job.mutable_update()->set_max_parallel(5);
  world.job.mutable_update()->set_stagger(30 * kSecond);
  const SystemDiff diff = world.all();
  EXPECT_EQ(diff.groups.at("app").placements.size(), 5U);
  EXPECT_EQ(diff.groups.at("app").placements[0].stop_previous, kUpdating);
  EXPECT_TRUE(diff.more_later);
}

TEST(SystemDiff, UpdatesInPlaceWhereItCan) {
  World world(3);
  world.run_everywhere();
  world.versions[0] = world.job;
  world.job.set_version(1);
  world.job.mutable_task_groups(0)->mutable_tasks(0)->set_kill_timeout(kSecond);
  const SystemGroupPlan plan = world.plan();
  EXPECT_EQ(plan.in_place.size(), 3U);
  EXPECT_TRUE(plan.placements.empty());
}

TEST(SystemDiff, ReplacesAFailedOneOnItsNode) {
  World world(2);
  world.run_everywhere();
  world.allocs[1].set_client_status(v1::CLIENT_STATUS_FAILED);
  const SystemGroupPlan plan = world.plan();
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_EQ(plan.placements[0].node_id, id_of("n1"));
  EXPECT_EQ(plan.placements[0].previous, world.allocs[1].id());
}

TEST(SystemDiff, ANodeDoesAVersionOfASysbatchJobOnce) {
  for (const auto status : {v1::CLIENT_STATUS_COMPLETE, v1::CLIENT_STATUS_FAILED}) {
    World world(2);
    world.sysbatch = true;
    world.run_everywhere();
    world.allocs[0].set_client_status(status);
    EXPECT_TRUE(world.plan().placements.empty());
    world.next_destructive_version();
    EXPECT_EQ(world.plan().placements.size(), 2U);
  }
}

TEST(SystemDiff, OneOutOfReachIsUnknownAndKeptWhenItIsBack) {
  World world(1);
  world.job.mutable_task_groups(0)->set_max_client_disconnect(60 * kSecond);
  world.run_everywhere();
  world.leave("n0", world.away);
  SystemGroupPlan plan = world.plan();
  ASSERT_EQ(plan.unknown.size(), 1U);
  EXPECT_TRUE(plan.stops.empty());
  v1::AllocState& state = *world.allocs[0].add_alloc_states();
  state.set_value("unknown");
  state.set_time(kNow);
  world.away.clear();
  world.nodes.insert(id_of("n0"));
  plan = world.plan();
  EXPECT_EQ(plan.reconnected.size(), 1U);
  EXPECT_TRUE(plan.placements.empty());
}

TEST(SystemDiff, OneOfADownNodeStaysUnknownWhereTheGroupSaysSo) {
  World world(1);
  world.job.mutable_task_groups(0)->set_prevent_reschedule_on_lost(true);
  world.run_everywhere();
  world.leave("n0", world.down);
  SystemGroupPlan plan = world.plan();
  ASSERT_EQ(plan.unknown.size(), 1U);
  EXPECT_EQ(plan.unknown[0].due, Later::kNever);
  v1::AllocState& state = *world.allocs[0].add_alloc_states();
  state.set_value("unknown");
  state.set_time(1);
  world.allocs[0].set_client_status(v1::CLIENT_STATUS_UNKNOWN);
  plan = world.plan();
  EXPECT_TRUE(plan.stops.empty());
  EXPECT_TRUE(plan.unknown.empty());
  world.down.clear();
  world.nodes.insert(id_of("n0"));
  world.allocs[0].set_client_status(v1::CLIENT_STATUS_RUNNING);
  plan = world.plan();
  EXPECT_EQ(plan.reconnected.size(), 1U);
  EXPECT_TRUE(plan.placements.empty());
}

TEST(SystemDiff, AStoppedJobStopsEverywhere) {
  World world(3);
  world.run_everywhere();
  world.job.set_stop(true);
  EXPECT_EQ(world.plan().stops.size(), 3U);
}

// It came back from out of reach to end, and its version is over: who is there in its place is no update of it.
TEST(SystemDiff, OneThatCameBackAndEndedIsNotUpdated) {
  World world(1);
  world.run_everywhere();
  world.allocs[0].set_client_status(v1::CLIENT_STATUS_COMPLETE);
  world.allocs[0].add_alloc_states()->set_value("unknown");
  world.next_destructive_version();
  SystemGroupPlan plan = world.plan();
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_TRUE(plan.placements[0].stop_previous.empty());
  v1::Allocation& there = world.allocs.emplace_back(make_alloc(world.job, 0, "n0"));
  there.set_id(id_of("there"));
  there.set_name("web.app[0]");
  there.set_job_version(world.job.version());
  EXPECT_TRUE(world.plan().placements.empty());
}

}  // namespace
}  // namespace drover::scheduler
