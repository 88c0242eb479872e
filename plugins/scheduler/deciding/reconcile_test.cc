#include "reconcile.h"

#include <gtest/gtest.h>

#include "descriptions.h"
#include "testing/reconcile_world.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::kNow;
using testing::kSecond;
using testing::make_job;
using testing::names;
using World = testing::ReconcileWorld;

TEST(Reconcile, PlacesANewJob) {
  World world;
  world.job = make_job("service", 3);
  const GroupPlan plan = world.plan();
  EXPECT_EQ(names(plan.placements), (std::vector<std::string>{"web.app[0]", "web.app[1]", "web.app[2]"}));
  EXPECT_TRUE(plan.stops.empty());
}

TEST(Reconcile, FillsFreeNamesWhenScaledUp) {
  World world;
  world.job = make_job("service", 3);
  world.run(3);
  world.allocs.erase(world.allocs.begin() + 1);
  EXPECT_EQ(names(world.plan().placements), (std::vector<std::string>{"web.app[1]"}));
}

TEST(Reconcile, StopsTheHighestNamesWhenScaledDown) {
  World world;
  world.run(4);
  world.job.mutable_task_groups(0)->set_count(2);
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.stops.size(), 2U);
  EXPECT_EQ(plan.stops[0].alloc_id, world.allocs[3].id());
  EXPECT_EQ(plan.stops[1].alloc_id, world.allocs[2].id());
  EXPECT_EQ(plan.stops[0].description, kNotNeeded);
  EXPECT_TRUE(plan.placements.empty());
}

TEST(Reconcile, StopsEverythingOfAStoppedOrMissingJobAndOfAGroupThatLeft) {
  for (const std::string how : {"stopped", "missing", "left"}) {
    SCOPED_TRACE(how);
    World world;
    world.run(2);
    if (how == "stopped") world.job.set_stop(true);
    if (how == "missing") world.gone = true;
    if (how == "left") world.job.mutable_task_groups(0)->set_name("other");
    const GroupPlan plan = world.plan();
    ASSERT_EQ(plan.stops.size(), 2U);
    EXPECT_EQ(plan.stops[0].description, "alloc not needed due to job update");
    EXPECT_TRUE(plan.placements.empty());
  }
}

TEST(Reconcile, ReplacesWhatIsLostUnderTheSameName) {
  World world;
  world.job = make_job("service", 2);
  world.run(2);
  world.down.insert(id_of("n1"));
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.stops.size(), 1U);
  EXPECT_EQ(plan.stops[0].client_status, v1::CLIENT_STATUS_LOST);
  EXPECT_EQ(plan.stops[0].description, "alloc is lost since its node is down");
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_EQ(plan.placements[0].name, "web.app[1]");
  EXPECT_EQ(plan.placements[0].previous, world.allocs[1].id());
}

TEST(Reconcile, LosesStoppedAllocationsOfADeadNode) {
  World world;
  world.run(1);
  world.allocs[0].set_desired_status(v1::DESIRED_STATUS_STOP);
  world.job.set_stop(true);
  world.down.insert(id_of("n0"));
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.stops.size(), 1U);
  EXPECT_EQ(plan.stops[0].client_status, v1::CLIENT_STATUS_LOST);
}

TEST(Reconcile, MigratesOnRequest) {
  World world;
  world.run(1);
  world.allocs[0].mutable_desired_transition()->set_migrate(true);
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.stops.size(), 1U);
  EXPECT_EQ(plan.stops[0].description, "alloc is being migrated");
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_EQ(plan.placements[0].previous, world.allocs[0].id());
}

TEST(Reconcile, UpdatesInPlaceWhatNeedsNoNewAllocation) {
  World world;
  world.job = make_job("service", 2);
  world.run(2);
  world.next_version();
  world.job.mutable_task_groups(0)->mutable_tasks(0)->set_kill_timeout(kSecond);
  world.job.set_priority(70);
  const GroupPlan plan = world.plan();
  EXPECT_EQ(plan.in_place.size(), 2U);
  EXPECT_TRUE(plan.destructive.empty());
  EXPECT_TRUE(plan.placements.empty());
}

TEST(Reconcile, LeavesFinishedBatchWorkAlone) {
  World world;
  world.job = make_job("batch", 2);
  world.run(2);
  world.allocs[0].set_client_status(v1::CLIENT_STATUS_COMPLETE);
  GroupPlan plan = world.plan();
  EXPECT_TRUE(plan.placements.empty());
  EXPECT_TRUE(plan.stops.empty());

  world.next_version();
  world.job.mutable_task_groups(0)->mutable_tasks(0)->set_user("other");
  plan = world.plan();
  EXPECT_EQ(names(plan.placements), (std::vector<std::string>{"web.app[0]"}));
  EXPECT_EQ(plan.destructive.size(), 1U);
}

TEST(Reconcile, ReplacesACompletedServiceAllocation) {
  World world;
  world.run(1);
  world.allocs[0].set_client_status(v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ(world.plan().placements.size(), 1U);
}

TEST(Reconcile, ReschedulesFailedAllocations) {
  struct Case {
    const char* name;
    int64_t failed_ago;
    bool unlimited;
    bool tried_before;
    const char* followup;
    size_t now, later;
  };
  const Case cases[] = {{"delay has passed", 31, true, false, "", 1, 0},
                        {"delay has not passed", 10, true, false, "", 0, 1},
                        {"its follow-up is this evaluation", 10, true, false, "eval", 1, 0},
                        {"its follow-up comes later", 10, true, false, "other", 0, 0},
                        {"attempts are left", 31, false, false, "", 1, 0},
                        {"attempts are used up", 31, false, true, "", 0, 0}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    v1::ReschedulePolicy& policy = *world.job.mutable_task_groups(0)->mutable_reschedule_policy();
    policy.set_unlimited(c.unlimited);
    policy.set_attempts(c.unlimited ? 0 : 1);
    policy.set_interval(3600 * kSecond);
    world.run(1);
    v1::Allocation& alloc = world.allocs[0];
    alloc.set_client_status(v1::CLIENT_STATUS_FAILED);
    (*alloc.mutable_task_states())["main"].set_finished_at(kNow - c.failed_ago * kSecond);
    if (c.tried_before) {
      alloc.mutable_reschedule_tracker()->add_events()->set_reschedule_time(kNow - 100 * kSecond);
    }
    if (*c.followup) alloc.set_followup_eval_id(id_of(c.followup));
    const GroupPlan plan = world.plan();
    EXPECT_EQ(plan.placements.size(), c.now);
    EXPECT_EQ(plan.later.size(), c.later);
    if (c.now) {
      EXPECT_EQ(plan.placements[0].stop_previous, kRescheduled);
      EXPECT_EQ(plan.placements[0].tracker.events_size(), 1);
      EXPECT_TRUE(plan.placements[0].penalised.contains(id_of("n0")));
    }
    if (c.later) {
      EXPECT_EQ(plan.later[0].due, kNow + 20 * kSecond);
    }
  }
}

}  // namespace
}  // namespace drover::scheduler
