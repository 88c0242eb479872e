// Allocations that failed, were lost or ended, beside deployments and other holders of their names: each place is
// filled once.
#include <gtest/gtest.h>

#include <algorithm>

#include "descriptions.h"
#include "testing/reconcile_world.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::kNow;
using testing::kSecond;
using testing::make_alloc;
using testing::make_job;
using testing::names;
using World = testing::ReconcileWorld;
using Health = World::Health;
using Names = std::vector<std::string>;

// It failed long ago.
v1::Allocation& fail(v1::Allocation& alloc) {
  alloc.set_client_status(v1::CLIENT_STATUS_FAILED);
  v1::TaskState& task = (*alloc.mutable_task_states())["main"];
  task.set_failed(true);
  task.set_state("dead");
  task.set_finished_at(kNow - 3600 * kSecond);
  return alloc;
}

World deploying(int count) {
  World world;
  world.job = make_job("service", count);
  world.update(1);
  world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, count);
  return world;
}

World canarying(int count, int canaries) {
  World world;
  world.job = make_job("service", count);
  world.update(1).set_canary(canaries);
  world.run(count);
  world.next_destructive_version();
  world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, count).set_desired_canaries(canaries);
  return world;
}

TEST(Repair, OneThatWasHealthyIsReplacedWhileItsDeploymentGoesOn) {
  World world = deploying(3);
  world.deployments.back().mutable_task_groups()->at("app").set_healthy_allocs(1);
  fail(world.add_deployed(0, Health::healthy));
  world.add_deployed(1);
  world.add_deployed(2);
  EXPECT_EQ(names(world.plan().placements), Names({"web.app[0]"}));
}

TEST(Repair, OneThatWasNotIsLeftToTheWatcher) {
  World world = deploying(3);
  fail(world.add_deployed(0, Health::unhealthy));
  world.add_deployed(1);
  world.add_deployed(2);
  EXPECT_TRUE(world.plan().placements.empty());
}

TEST(Repair, ADeploymentThatHasAllItNeedsLeavesNoFailureBehind) {
  World world = deploying(2);
  world.deployments.back().mutable_task_groups()->at("app").set_healthy_allocs(2);
  world.add_deployed(0, Health::healthy);
  fail(world.add_deployed(1, Health::unhealthy));
  const Reconciled wanted = world.all();
  EXPECT_EQ(names(wanted.groups.at("app").placements), Names({"web.app[1]"}));
  EXPECT_EQ(wanted.deployment_status, v1::DEPLOYMENT_STATUS_UNSPECIFIED) << "its successor is not there yet";
}

TEST(Repair, WhatIsNotWantedAnyMoreDoesNotKeepADeploymentOpen) {
  World world = deploying(1);
  world.deployments.back().mutable_task_groups()->at("app").set_healthy_allocs(2);
  world.add_deployed(0, Health::healthy);
  fail(world.add_deployed(1, Health::healthy));
  const Reconciled wanted = world.all();
  EXPECT_TRUE(wanted.groups.at("app").placements.empty());
  EXPECT_EQ(wanted.deployment_status, v1::DEPLOYMENT_STATUS_SUCCESSFUL);
}

TEST(Repair, ACanaryThatFailedHasOneSuccessor) {
  World world = canarying(3, 1);
  fail(world.add_deployed(0, Health::healthy, /*canary=*/true));
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_TRUE(plan.placements[0].is_canary);
  EXPECT_TRUE(plan.later.empty());
}

TEST(Repair, SoHasOneThatIsMarkedForIt) {
  World world = canarying(3, 1);
  fail(world.add_deployed(0, Health::unhealthy, /*canary=*/true)).mutable_desired_transition()->set_reschedule(true);
  EXPECT_EQ(world.plan().placements.size(), 1U);
}

TEST(Repair, SoHasOneThatIsOutOfReach) {
  World world = canarying(3, 1);
  world.group().mutable_disconnect()->set_lost_after(60 * kSecond);
  world.add_deployed(0, Health::healthy, /*canary=*/true);
  world.away.insert(id_of("d0"));
  const GroupPlan plan = world.plan();
  EXPECT_EQ(plan.unknown.size(), 1U);
  EXPECT_EQ(plan.placements.size(), 1U);
}

TEST(Repair, CanariesComeAlsoWhenNothingOfTheOldVersionIsLeft) {
  World world = canarying(3, 2);
  world.allocs.clear();
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.placements.size(), 2U);
  EXPECT_TRUE(std::ranges::all_of(plan.placements, &Placement::is_canary));
}

TEST(Repair, APromotedCanaryHasItsNameAloneAlsoBelowTheCount) {
  World world = canarying(5, 1);
  world.allocs.resize(1);  // there was room for no more
  world.deployments.back().mutable_task_groups()->at("app").set_promoted(true);
  world.add_deployed(0, Health::healthy, /*canary=*/true);
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.stops.size(), 1U);
  EXPECT_EQ(plan.stops[0].alloc_id, id_of("alloc0n0"));
  EXPECT_EQ(names(plan.placements), Names({"web.app[1]", "web.app[2]", "web.app[3]", "web.app[4]"}));
  EXPECT_TRUE(plan.destructive.empty());
}

TEST(Repair, OfFailuresOfOneNameTheNewestIsReplaced) {
  World world;
  world.job = make_job("service", 2);
  world.run(2);
  fail(world.allocs[0]);
  world.allocs.push_back(make_alloc(world.job, 0, "other"));
  fail(world.allocs.back()).set_create_index(25);
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_EQ(plan.placements[0].previous, world.allocs.back().id());
}

TEST(Repair, AFailureWhosePlaceIsTakenIsHistory) {
  World world;
  world.job = make_job("service", 2);
  world.run(2);
  world.allocs.push_back(make_alloc(world.job, 0, "other"));
  world.allocs.back().set_create_index(25);
  fail(world.allocs[0]);
  EXPECT_TRUE(world.plan().placements.empty());
}

TEST(Repair, FailuresOfAnEarlierJobOfThatNameAreHistory) {
  World world;
  world.job = make_job("service", 2);
  world.run(3);
  for (v1::Allocation& alloc : world.allocs) fail(alloc);
  world.job.set_create_index(99);
  const GroupPlan plan = world.plan();
  EXPECT_EQ(names(plan.placements), Names({"web.app[0]", "web.app[1]"}));
  EXPECT_TRUE(std::ranges::all_of(plan.placements, [](const Placement& one) { return one.previous.empty(); }));
}

TEST(Repair, WhatIsLostHasNoSecondSuccessor) {
  World world;
  world.job = make_job("service", 3);
  world.run(3);
  world.allocs.push_back(make_alloc(world.job, 0, "other"));  // came while the first was out of reach
  world.down = {id_of("n0"), id_of("n2")};
  EXPECT_EQ(names(world.plan().placements), Names({"web.app[2]"}));
}

TEST(Repair, NorHasWhatMovesAndWasReplaced) {
  World world;
  world.job = make_job("service", 2);
  world.run(2);
  world.allocs.push_back(make_alloc(world.job, 0, "other"));
  world.allocs[0].mutable_desired_transition()->set_migrate(true);
  EXPECT_TRUE(world.plan().placements.empty());
}

TEST(Repair, OfTwoVersionsOfANameTheOlderGoesBeforeBothAreReplaced) {
  World world;
  world.job = make_job("service", 4);
  world.update(4);
  world.run(1);
  world.next_destructive_version();
  world.allocs.push_back(make_alloc(world.job, 0, "promoted"));
  world.next_destructive_version();
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.stops.size(), 1U);
  EXPECT_EQ(plan.stops[0].alloc_id, id_of("alloc0n0"));
  EXPECT_EQ(plan.destructive.size(), 1U);
}

TEST(Repair, WhatEndedLeavesItsPlaceBeforeOthersWhenTheCountFalls) {
  World world;
  world.job = make_job("service", 3);
  world.group().mutable_reschedule_policy()->set_unlimited(false);
  world.run(3);
  fail(world.allocs[2]);
  world.group().set_count(2);
  const GroupPlan plan = world.plan();
  EXPECT_TRUE(plan.stops.empty());
  EXPECT_TRUE(plan.placements.empty());
}

TEST(Repair, AFailedOneAboveTheCountHoldsNoPlace) {
  struct Case {
    const char* name;
    bool is_lost;  // the one that is left; it moves otherwise
    bool tries_again;
  };
  for (const Case& c : {Case{"moved, and given up", false, false}, Case{"lost, and given up", true, false},
                        Case{"moved, and to be tried again", false, true}}) {
    SCOPED_TRACE(c.name);
    World world;
    world.job = make_job("service", 1);
    world.group().mutable_reschedule_policy()->set_unlimited(c.tries_again);
    world.group().mutable_reschedule_policy()->set_delay(3600 * kSecond);
    world.run(3);
    world.allocs.erase(world.allocs.begin() + 1);
    world.allocs[1].set_client_status(v1::CLIENT_STATUS_FAILED);
    world.allocs[1].set_modify_time(kNow);
    if (c.is_lost) {
      world.down.insert(id_of("n0"));
    } else {
      world.allocs[0].mutable_desired_transition()->set_migrate(true);
    }
    const GroupPlan plan = world.plan();
    EXPECT_EQ(names(plan.placements), (std::vector<std::string>{"web.app[0]"}));
    EXPECT_TRUE(plan.later.empty());
  }
}

TEST(Repair, AFailureOfANameIsHistoryWhereverItsNewestHolderIs) {
  for (const char* where : {"on its node", "leaving it", "lost", "out of reach"}) {
    SCOPED_TRACE(where);
    World world;
    world.job = make_job("service", 1);
    world.group().mutable_disconnect()->set_lost_after(3600 * kSecond);
    world.group().mutable_reschedule_policy()->set_unlimited(true);
    world.run(1);
    fail(world.allocs[0]).set_id(id_of("failed"));
    v1::Allocation& holder = world.allocs.emplace_back(make_alloc(world.job, 0, "n1"));
    holder.set_create_index(world.allocs[0].create_index() + 1);
    if (where == std::string("leaving it")) holder.mutable_desired_transition()->set_migrate(true);
    if (where == std::string("lost")) world.down.insert(id_of("n1"));
    if (where == std::string("out of reach")) world.away.insert(id_of("n1"));
    const GroupPlan plan = world.plan();
    if (where == std::string("on its node")) {
      EXPECT_TRUE(plan.placements.empty());
    } else {
      ASSERT_EQ(plan.placements.size(), 1U);
      EXPECT_EQ(plan.placements[0].previous, holder.id());
    }
  }
}

TEST(Repair, APromotedCanaryHoldsItsNameAgainstALaterOneOfTheFormerVersion) {
  World world;
  world.job = make_job("service", 1);
  world.update(1).set_canary(1);
  world.group().mutable_reschedule_policy()->set_unlimited(true);
  world.next_destructive_version();
  v1::DeploymentState& state = world.deploy(v1::DEPLOYMENT_STATUS_FAILED, 1);
  state.set_desired_canaries(1);
  state.set_promoted(true);
  world.add_deployed(0, Health::healthy, /*canary=*/true);
  v1::Allocation& former = fail(world.allocs.emplace_back(make_alloc(world.job, 0, "n1")));
  former.set_job_version(world.job.version() - 1);
  former.set_create_index(world.allocs[0].create_index() + 1);
  EXPECT_TRUE(world.plan().placements.empty());
}

}  // namespace
}  // namespace drover::scheduler
