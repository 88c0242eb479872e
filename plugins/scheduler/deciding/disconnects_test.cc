#include "disconnects.h"

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
using World = testing::ReconcileWorld;

constexpr int64_t kWindow = 300 * kSecond;

World one_away(v1::ClientStatus status = v1::CLIENT_STATUS_RUNNING) {
  World world;
  world.group().set_max_client_disconnect(kWindow);
  world.run(1);
  world.allocs[0].set_client_status(status);
  world.away.insert(id_of("n0"));
  return world;
}

void note_unknown(v1::Allocation& alloc, int64_t ago) {
  v1::AllocState& state = *alloc.add_alloc_states();
  state.set_value("unknown");
  state.set_time(kNow - ago);
}

// One that was away, is back, and has a replacement of the same name.
World one_back(bool with_replacement = true) {
  World world;
  world.group().set_max_client_disconnect(kWindow);
  world.run(1);
  note_unknown(world.allocs[0], 10 * kSecond);
  if (with_replacement) {
    world.allocs.push_back(make_alloc(world.job, 0, "other"));
    world.allocs.back().set_create_index(40);
    world.allocs[0].add_alloc_states();  // what reports say does not matter
    world.allocs[0].mutable_alloc_states()->RemoveLast();
  }
  return world;
}

void score(v1::Allocation& alloc, double norm) { alloc.mutable_metrics()->add_score_meta_data()->set_norm_score(norm); }

TEST(Disconnects, ARunningOneIsUnknownAndReplacedAtOnce) {
  const GroupPlan plan = one_away().plan();
  EXPECT_TRUE(plan.stops.empty());
  ASSERT_EQ(plan.unknown.size(), 1U);
  EXPECT_EQ(plan.unknown[0].due, kNow + kWindow);
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_EQ(plan.placements[0].name, "web.app[0]");
  EXPECT_EQ(plan.placements[0].previous, id_of("alloc0n0"));
  EXPECT_TRUE(plan.placements[0].stop_previous.empty());
  EXPECT_EQ(plan.placements[0].tracker.events_size(), 1);
}

TEST(Disconnects, ABatchJobsIsReplacedByAnUnchainedOne) {
  World world = one_away();
  world.job.set_type("batch");
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_EQ(plan.placements[0].previous, "");
}

TEST(Disconnects, APendingOneOrOneWithoutTheSettingIsLost) {
  World pending = one_away(v1::CLIENT_STATUS_PENDING), plain = one_away();
  plain.group().clear_max_client_disconnect();
  for (const World& world : {pending, plain}) {
    const GroupPlan plan = world.plan();
    ASSERT_EQ(plan.stops.size(), 1U);
    EXPECT_EQ(plan.stops[0].client_status, v1::CLIENT_STATUS_LOST);
    EXPECT_EQ(plan.placements.size(), 1U);
  }
}

TEST(Disconnects, OneThatMayNotBeReplacedKeepsItsPlace) {
  World world = one_away();
  world.group().mutable_disconnect()->set_lost_after(kWindow);
  world.group().mutable_disconnect()->set_replace(false);
  GroupPlan plan = world.plan();
  EXPECT_EQ(plan.unknown.size(), 1U);
  EXPECT_TRUE(plan.placements.empty());
  world.allocs[0].set_client_status(v1::CLIENT_STATUS_UNKNOWN);
  note_unknown(world.allocs[0], kSecond);
  plan = world.plan();
  EXPECT_TRUE(plan.placements.empty());
  EXPECT_TRUE(plan.stops.empty());
}

// A group that never gives up its allocations by itself, both ways to say so; one runs on a node that is down.
World one_held(bool by_block, v1::ClientStatus status = v1::CLIENT_STATUS_RUNNING) {
  World world;
  world.job = make_job("service", 1);
  if (by_block) {
    world.group().mutable_disconnect()->set_replace(false);
  } else {
    world.group().set_prevent_reschedule_on_lost(true);
  }
  world.run(1);
  world.allocs[0].set_client_status(status);
  world.down.insert(id_of("n0"));
  return world;
}

TEST(Disconnects, OneOfADownNodeThatMayNotBeRescheduledIsUnknownWithoutEnd) {
  for (const bool by_block : {true, false}) {
    SCOPED_TRACE(by_block);
    World world = one_held(by_block);
    GroupPlan plan = world.plan();
    ASSERT_EQ(plan.unknown.size(), 1U);
    EXPECT_EQ(plan.unknown[0].due, Later::kNever);
    EXPECT_TRUE(plan.stops.empty());
    EXPECT_TRUE(plan.placements.empty());
    world.allocs[0].set_client_status(v1::CLIENT_STATUS_UNKNOWN);
    note_unknown(world.allocs[0], 100 * kWindow);
    plan = world.plan();
    EXPECT_TRUE(plan.unknown.empty());
    EXPECT_TRUE(plan.stops.empty());
    EXPECT_TRUE(plan.placements.empty());
    world.allocs[0].set_client_status(v1::CLIENT_STATUS_RUNNING);  // it says so itself
    world.down.clear();
    plan = world.plan();
    EXPECT_EQ(plan.reconnected.size(), 1U);
    EXPECT_TRUE(plan.stops.empty());
    EXPECT_TRUE(plan.placements.empty());
  }
}

TEST(Disconnects, OneThatMayNotBeRescheduledOutlivesItsWindow) {
  World world = one_held(/*by_block=*/true, v1::CLIENT_STATUS_UNKNOWN);
  world.group().mutable_disconnect()->set_lost_after(kWindow);
  note_unknown(world.allocs[0], kWindow);
  const GroupPlan plan = world.plan();
  EXPECT_TRUE(plan.stops.empty());
  EXPECT_TRUE(plan.placements.empty());
}

TEST(Disconnects, OneThatMayNotBeRescheduledIsReplacedOnceThatIsWanted) {
  struct Case {
    const char* name;
    void (*change)(World&);
  };
  const Case cases[] = {
      {"it has never run", [](World& world) { world.allocs[0].set_client_status(v1::CLIENT_STATUS_PENDING); }},
      {"somebody stops it", [](World& world) { world.allocs[0].mutable_desired_transition()->set_migrate(true); }},
      {"the job gives up on it", [](World& world) { world.group().set_prevent_reschedule_on_lost(false); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world = one_held(/*by_block=*/false, v1::CLIENT_STATUS_UNKNOWN);
    note_unknown(world.allocs[0], kSecond);
    c.change(world);
    const GroupPlan plan = world.plan();
    ASSERT_EQ(plan.stops.size(), 1U);
    EXPECT_EQ(plan.stops[0].client_status, v1::CLIENT_STATUS_LOST);
    EXPECT_EQ(plan.placements.size(), 1U);
  }
}

TEST(Disconnects, OneOutOfReachIsNotToldOfAChangeThatItCouldTake) {
  World world = one_held(/*by_block=*/false);
  world.next_version();
  world.group().mutable_restart_policy()->set_attempts(7);
  const GroupPlan plan = world.plan();
  EXPECT_TRUE(plan.in_place.empty());
  EXPECT_EQ(plan.unknown.size(), 1U);
  EXPECT_TRUE(plan.placements.empty());
}

TEST(Disconnects, ACanaryThatMayNotBeRescheduledHasNoSuccessor) {
  World world;
  world.job = make_job("service", 1);
  world.update(1).set_canary(1);
  world.group().set_prevent_reschedule_on_lost(true);
  world.run(1);
  world.next_destructive_version();
  world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, 1).set_desired_canaries(1);
  v1::Allocation& canary = world.add_deployed(0, World::Health::unset, /*canary=*/true);
  world.down.insert(canary.node_id());
  EXPECT_TRUE(world.plan().placements.empty());
  canary.set_client_status(v1::CLIENT_STATUS_UNKNOWN);
  note_unknown(canary, kSecond);
  EXPECT_TRUE(world.plan().placements.empty());
}

TEST(Disconnects, AnUnknownOneIsLostWhenItsWindowIsOver) {
  World world = one_away(v1::CLIENT_STATUS_UNKNOWN);
  note_unknown(world.allocs[0], kWindow - kSecond);
  EXPECT_TRUE(world.plan().stops.empty());
  world.allocs[0].mutable_alloc_states(0)->set_time(kNow - kWindow);
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.stops.size(), 1U);
  EXPECT_EQ(plan.stops[0].client_status, v1::CLIENT_STATUS_LOST);
}

TEST(Disconnects, OneThatIsBackIsKept) {
  const GroupPlan plan = one_back(/*with_replacement=*/false).plan();
  EXPECT_TRUE(plan.stops.empty());
  EXPECT_TRUE(plan.placements.empty());
  ASSERT_EQ(plan.reconnected.size(), 1U);
}

TEST(Disconnects, ChooseBetweenOneThatIsBackAndItsReplacement) {
  struct Case {
    const char* name;
    void (*change)(World& world, v1::Allocation& back, v1::Allocation& other);
    bool keeps_back;
  };
  const Case cases[] = {
      {"equal scores", [](World&, v1::Allocation&, v1::Allocation&) {}, true},
      {"the replacement scores better and runs", [](World&, v1::Allocation&, v1::Allocation& o) { score(o, 0.9); },
       false},
      {"it scores better and is pending",
       [](World&, v1::Allocation&, v1::Allocation& o) {
         score(o, 0.9);
         o.set_client_status(v1::CLIENT_STATUS_PENDING);
       },
       true},
      {"the job has a newer version",
       [](World& world, v1::Allocation&, v1::Allocation& o) {
         world.next_destructive_version();
         o.set_job_version(1);
       },
       false},
      {"it shall move anyway",
       [](World&, v1::Allocation& b, v1::Allocation&) { b.mutable_desired_transition()->set_migrate(true); }, false},
      {"the operator keeps replacements",
       [](World& world, v1::Allocation& b, v1::Allocation&) {
         score(b, 0.9);
         world.group().mutable_disconnect()->set_reconcile("keep_replacement");
       },
       false},
      {"the operator keeps originals",
       [](World& world, v1::Allocation&, v1::Allocation& o) {
         score(o, 0.9);
         world.group().mutable_disconnect()->set_reconcile("keep_original");
       },
       true},
      {"the longest running",
       [](World& world, v1::Allocation& b, v1::Allocation& o) {
         (*b.mutable_task_states())["main"].set_started_at(5);
         (*o.mutable_task_states())["main"].set_started_at(9);
         world.group().mutable_disconnect()->set_reconcile("longest_running");
       },
       true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world = one_back();
    c.change(world, world.allocs[0], world.allocs[1]);
    const GroupPlan plan = world.plan();
    ASSERT_EQ(plan.stops.size(), 1U);
    EXPECT_EQ(plan.stops[0].alloc_id, world.allocs[c.keeps_back ? 1 : 0].id());
    EXPECT_EQ(plan.stops[0].description, c.keeps_back ? kReconnected : kNotNeeded);
    EXPECT_EQ(plan.reconnected.size(), c.keeps_back ? 1U : 0U);
    EXPECT_TRUE(plan.placements.empty());
  }
}

TEST(Disconnects, OfSeveralReplacementsAllStopOrTheOriginalDoesOnce) {
  for (const bool better : {true, false}) {
    World world = one_back();
    world.allocs.push_back(make_alloc(world.job, 0, "third"));
    world.allocs.back().set_create_index(50);
    if (better) {
      score(world.allocs[1], 0.9);
      score(world.allocs[2], 0.9);
    }
    const GroupPlan plan = world.plan();
    const size_t of_back = static_cast<size_t>(std::ranges::count(plan.stops, world.allocs[0].id(), &Stop::alloc_id));
    EXPECT_EQ(of_back, better ? 1U : 0U);
    // One of two replacements is beyond the count in any case.
    EXPECT_EQ(plan.stops.size(), 2U);
  }
}

TEST(Disconnects, OneThatFailedWhileAwayStopsAsFailed) {
  World world = one_back();
  world.allocs[0].set_client_status(v1::CLIENT_STATUS_FAILED);
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.stops.size(), 1U);
  EXPECT_EQ(plan.stops[0].alloc_id, world.allocs[0].id());
  EXPECT_EQ(plan.stops[0].client_status, v1::CLIENT_STATUS_FAILED);
  EXPECT_TRUE(plan.placements.empty());
}

TEST(Disconnects, OneThatFailedWhileAwayAndWasToldToMoveBeforeTakesNoPlace) {
  World world = one_back();
  world.job = make_job("service", 1);
  world.group().set_max_client_disconnect(kWindow);
  for (v1::Allocation& alloc : world.allocs) alloc.mutable_desired_transition()->set_migrate(true);
  world.allocs[0].set_desired_status(v1::DESIRED_STATUS_STOP);
  world.allocs[0].set_client_status(v1::CLIENT_STATUS_FAILED);
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.stops.size(), 1U);
  EXPECT_EQ(plan.stops[0].description, kMigrating);
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_EQ(plan.placements[0].previous, world.allocs[1].id());
}

TEST(Disconnects, AGroupWaitsWhileALostNodeMayStillRunIt) {
  World world;
  world.group().set_stop_after_client_disconnect(10 * kSecond);
  world.group().mutable_tasks(0)->set_kill_timeout(20 * kSecond);
  world.run(1);
  world.down.insert(id_of("n0"));
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.lost_later.size(), 1U);
  EXPECT_EQ(plan.lost_later[0].due, kNow + 30 * kSecond);
  EXPECT_EQ(plan.stops.size(), 1U);
  EXPECT_TRUE(plan.placements.empty());
}

}  // namespace
}  // namespace drover::scheduler
