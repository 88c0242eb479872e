// How a job's deployment goes on: rolling updates, canaries, and what ends it.
#include <gtest/gtest.h>

#include "descriptions.h"
#include "testing/reconcile_world.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_job;
using testing::names;
using World = testing::ReconcileWorld;
using Health = World::Health;

TEST(Rollout, AFirstRegistrationWithAnUpdateBlockIsADeployment) {
  World world;
  world.job = make_job("service", 10);
  v1::UpdateStrategy& update = world.update(2);
  update.set_auto_revert(true);
  update.set_progress_deadline(7);
  const Reconciled wanted = world.all();
  ASSERT_TRUE(wanted.deployment);
  EXPECT_EQ(wanted.deployment->status_description(), kDeploymentRunning);
  const v1::DeploymentState& state = wanted.deployment->task_groups().at("app");
  EXPECT_EQ(state.desired_total(), 10);
  EXPECT_EQ(state.progress_deadline(), 7);
  EXPECT_TRUE(state.auto_revert());
  EXPECT_EQ(wanted.groups.at("app").placements.size(), 10U);
}

TEST(Rollout, OnlyGroupsWithAnUpdateBlockTakePart) {
  World world;
  world.job = make_job("service", 2);
  *world.job.add_task_groups() = world.group();
  world.job.mutable_task_groups(1)->set_name("plain");
  world.update(1);
  const Reconciled wanted = world.all();
  ASSERT_TRUE(wanted.deployment);
  EXPECT_EQ(wanted.deployment->task_groups_size(), 1);
  EXPECT_TRUE(wanted.deployment->task_groups().contains("app"));
}

TEST(Rollout, NoneIsMadeWhereNothingChanges) {
  World world;
  world.job = make_job("service", 3);
  world.update(1);
  world.run(3);
  EXPECT_FALSE(world.all().deployment);
}

TEST(Rollout, AJobRegisteredAnewUnderTheNameIsANewDeployment) {
  World world;
  world.job = make_job("service", 2);
  world.update(1);
  world.run(2);
  world.deploy(v1::DEPLOYMENT_STATUS_SUCCESSFUL, 2);
  world.job.set_create_index(99);
  EXPECT_TRUE(world.all().deployment);
}

TEST(Rollout, GoesOnStepByStep) {
  struct Case {
    const char* name;
    int max_parallel;
    int healthy, unset, unhealthy;  // of the new version
    size_t updated;
  };
  const Case cases[] = {{"the first step", 4, 0, 0, 0, 4},
                        {"all in doubt", 4, 0, 4, 0, 0},
                        {"half of the step", 4, 2, 2, 0, 2},
                        {"one after the other", 1, 3, 0, 0, 1},
                        {"one is unhealthy", 4, 3, 0, 1, 0},
                        {"fewer left than allowed", 8, 4, 0, 0, 6},
                        {"all at once without a limit", 0, 0, 0, 0, 10}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    world.job = make_job("service", 10);
    world.update(c.max_parallel);
    world.run(10);
    world.next_destructive_version();
    if (c.max_parallel > 0) world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, 10);
    const int deployed = c.healthy + c.unset + c.unhealthy;
    world.allocs.erase(world.allocs.begin(), world.allocs.begin() + deployed);
    for (int i = 0; i < deployed; ++i) {
      world.add_deployed(i, i < c.healthy             ? Health::healthy
                            : i < c.healthy + c.unset ? Health::unset
                                                      : Health::unhealthy);
    }
    const GroupPlan plan = world.plan();
    EXPECT_EQ(plan.destructive.size(), c.updated);
    if (c.updated > 0) {
      EXPECT_EQ(plan.destructive[0].name, "web.app[" + std::to_string(deployed) + "]");
      EXPECT_EQ(plan.destructive[0].stop_previous, kUpdating);
    }
    EXPECT_EQ(plan.desired.destructive_update(), c.updated);
    EXPECT_EQ(plan.desired.ignore(), 10 - c.updated);
  }
}

TEST(Rollout, ScalingUpUsesTheStepFirst) {
  World world;
  world.job = make_job("service", 10);
  world.update(5);
  world.run(10);
  world.next_destructive_version();
  world.group().set_count(13);
  world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, 13);
  const GroupPlan plan = world.plan();
  EXPECT_EQ(plan.placements.size(), 3U);
  EXPECT_EQ(plan.destructive.size(), 2U);
}

TEST(Rollout, ANewerVersionOrAStoppedJobCancelsIt) {
  for (const bool stopped : {true, false}) {
    World world;
    world.job = make_job("service", 2);
    world.update(1);
    world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, 2);
    world.add_deployed(0);
    if (stopped) {
      world.job.set_stop(true);
    } else {
      world.next_destructive_version();
    }
    const Reconciled wanted = world.all();
    EXPECT_EQ(wanted.deployment_status, v1::DEPLOYMENT_STATUS_CANCELLED);
    EXPECT_EQ(wanted.deployment_description,
              stopped ? "Cancelled because job is stopped" : "Cancelled due to newer version of job");
    EXPECT_EQ(wanted.deployment.has_value(), !stopped);
  }
}

TEST(Rollout, APausedOrFailedOneOnlyReplacesWhatIsLost) {
  for (const auto status : {v1::DEPLOYMENT_STATUS_PAUSED, v1::DEPLOYMENT_STATUS_FAILED}) {
    World world;
    world.job = make_job("service", 4);
    world.update(2);
    world.run(4);
    world.next_destructive_version();
    world.group().set_count(6);
    world.deploy(status, 6);
    world.down.insert(id_of("n3"));
    const GroupPlan plan = world.plan();
    EXPECT_TRUE(plan.destructive.empty());
    EXPECT_EQ(names(plan.placements), (std::vector<std::string>{"web.app[3]"}));
  }
}

TEST(Rollout, CanariesComeBesideWhatRuns) {
  World world;
  world.job = make_job("service", 4);
  world.update(2).set_canary(2);
  world.run(4);
  world.next_destructive_version();
  const Reconciled wanted = world.all();
  const GroupPlan& plan = wanted.groups.at("app");
  EXPECT_EQ(names(plan.placements), (std::vector<std::string>{"web.app[0]", "web.app[1]"}));
  EXPECT_TRUE(plan.placements[0].is_canary);
  EXPECT_TRUE(plan.stops.empty());
  EXPECT_TRUE(plan.destructive.empty());
  EXPECT_EQ(plan.desired.canary(), 2U);
  ASSERT_TRUE(wanted.deployment);
  EXPECT_EQ(wanted.deployment->status_description(), kDeploymentNeedsPromotion);
  EXPECT_EQ(wanted.deployment->task_groups().at("app").desired_canaries(), 2);
  EXPECT_EQ(wanted.deployment->task_groups().at("app").desired_total(), 4);
}

TEST(Rollout, ANewOneIsToBringTheGroupToItsCount) {
  struct Case {
    const char* name;
    int running, canaries;
    bool one_migrates, one_is_lost_later;
  };
  const Case cases[] = {{"all are there", 6, 0, false, false},
                        {"some found no room", 2, 0, false, false},
                        {"some found no room, and canaries come first", 2, 1, false, false},
                        {"one leaves its node", 6, 0, true, false},
                        {"one leaves its node, and canaries come first", 6, 2, true, false},
                        {"the client of one may run it for some time", 6, 0, false, true}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    world.job = make_job("service", 6);
    world.update(1).set_canary(c.canaries);
    if (c.one_is_lost_later) world.group().mutable_disconnect()->set_stop_on_client_after(60 * testing::kSecond);
    world.run(c.running);
    world.next_destructive_version();
    if (c.one_migrates) world.allocs[0].mutable_desired_transition()->set_migrate(true);
    if (c.one_is_lost_later) world.down.insert(id_of("n0"));
    const Reconciled wanted = world.all();
    ASSERT_TRUE(wanted.deployment);
    EXPECT_EQ(wanted.deployment->task_groups().at("app").desired_total(), 6);
  }
}

TEST(Rollout, OneOutOfReachHoldsNothingUpOnceItsReplacementIsHealthy) {
  World world;
  world.job = make_job("service", 2);
  world.update(1);
  world.group().mutable_disconnect()->set_lost_after(600 * testing::kSecond);
  world.run(2);
  world.next_destructive_version();
  world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, 2);
  world.allocs.erase(world.allocs.begin());
  v1::Allocation& replacement = world.add_deployed(0, Health::healthy);
  replacement.set_id(id_of("replacement"));
  v1::Allocation& away = world.add_deployed(0, Health::unhealthy);
  away.set_node_id(id_of("away"));
  away.set_create_index(29);
  away.set_next_allocation(id_of("replacement"));
  away.set_client_status(v1::CLIENT_STATUS_UNKNOWN);
  v1::AllocState& state = *away.add_alloc_states();
  state.set_value("unknown");
  state.set_time(testing::kNow);
  world.away.insert(id_of("away"));
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.destructive.size(), 1U);
  EXPECT_EQ(plan.destructive[0].name, "web.app[1]");
}

TEST(Rollout, MoreCanariesThanTheCountTakeFurtherNames) {
  World world;
  world.job = make_job("service", 3);
  world.update(2).set_canary(7);
  world.run(3);
  world.next_destructive_version();
  EXPECT_EQ(names(world.plan().placements),
            (std::vector<std::string>{"web.app[0]", "web.app[1]", "web.app[2]", "web.app[3]", "web.app[4]",
                                      "web.app[5]", "web.app[6]"}));
}

World with_canaries(bool promoted) {
  World world;
  world.job = make_job("service", 4);
  world.update(2).set_canary(2);
  world.run(4);
  world.next_destructive_version();
  v1::DeploymentState& state = world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, 4);
  state.set_desired_canaries(2);
  state.set_promoted(promoted);
  world.add_deployed(0, Health::healthy, /*canary=*/true);
  world.add_deployed(1, Health::healthy, /*canary=*/true);
  return world;
}

TEST(Rollout, NothingElseChangesUntilTheCanariesArePromoted) {
  const GroupPlan plan = with_canaries(/*promoted=*/false).plan();
  EXPECT_TRUE(plan.placements.empty());
  EXPECT_TRUE(plan.stops.empty());
  EXPECT_TRUE(plan.destructive.empty());
}

TEST(Rollout, PromotedCanariesTakeThePlacesOfTheirNames) {
  const GroupPlan plan = with_canaries(/*promoted=*/true).plan();
  ASSERT_EQ(plan.stops.size(), 2U);
  EXPECT_EQ(plan.stops[0].alloc_id, id_of("alloc0n0"));
  EXPECT_EQ(plan.stops[1].alloc_id, id_of("alloc1n1"));
  EXPECT_EQ(plan.destructive.size(), 2U);
  EXPECT_EQ(plan.destructive[0].name, "web.app[2]");
}

TEST(Rollout, CanariesThatMustLeaveTheirNodesAreReplacedOutsideTheCounts) {
  for (const bool lost : {true, false}) {
    World world = with_canaries(/*promoted=*/false);
    if (lost) {
      world.down.insert(id_of("d1"));
    } else {
      world.allocs.back().mutable_desired_transition()->set_migrate(true);
    }
    const GroupPlan plan = world.plan();
    ASSERT_EQ(plan.stops.size(), 1U);
    EXPECT_EQ(plan.stops[0].description, lost ? kLost : kMigrating);
    EXPECT_EQ(plan.desired.stop(), 0U);
    EXPECT_EQ(names(plan.placements), (std::vector<std::string>{"web.app[1]"}));
    EXPECT_TRUE(plan.placements[0].is_canary);
  }
}

TEST(Rollout, CanariesOfAFailedOrOlderDeploymentStop) {
  for (const bool failed : {true, false}) {
    World world = with_canaries(/*promoted=*/false);
    if (failed) {
      world.deployments.back().set_status(v1::DEPLOYMENT_STATUS_FAILED);
    } else {
      world.next_destructive_version();
    }
    const GroupPlan plan = world.plan();
    ASSERT_EQ(plan.stops.size(), 2U);
    for (const Stop& stop : plan.stops) EXPECT_EQ(stop.description, kNotNeeded);
    EXPECT_EQ(plan.desired.stop(), 2U);
    EXPECT_EQ(plan.placements.size(), failed ? 0U : 2U);
  }
}

TEST(Rollout, WhileCanariesAreJudgedOthersKeepTheirVersion) {
  World world = with_canaries(/*promoted=*/false);
  world.down.insert(id_of("n3"));
  const GroupPlan plan = world.plan();
  ASSERT_EQ(plan.placements.size(), 1U);
  EXPECT_EQ(plan.placements[0].name, "web.app[3]");
  EXPECT_EQ(plan.placements[0].old_version, std::optional<uint64_t>(0));
  EXPECT_FALSE(plan.placements[0].is_canary);
}

TEST(Rollout, SucceedsOnceAllAreHealthyAndPromoted) {
  struct Case {
    const char* name;
    int healthy;
    int canaries;
    bool promoted;
    bool successful;
  };
  const Case cases[] = {{"all healthy", 3, 0, false, true},
                        {"one is not", 2, 0, false, false},
                        {"promoted", 3, 1, true, true},
                        {"not promoted", 3, 1, false, false}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    world.job = make_job("service", 3);
    world.update(1);
    v1::DeploymentState& state = world.deploy(v1::DEPLOYMENT_STATUS_RUNNING, 3);
    state.set_desired_canaries(c.canaries);
    state.set_promoted(c.promoted);
    state.set_healthy_allocs(c.healthy);
    for (int i = 0; i < 3; ++i) world.add_deployed(i, i < c.healthy ? Health::healthy : Health::unset);
    const Reconciled wanted = world.all();
    EXPECT_EQ(wanted.deployment_status == v1::DEPLOYMENT_STATUS_SUCCESSFUL, c.successful);
  }
}

TEST(Rollout, WhoSaysWhenAFailedAllocationIsTriedAgain) {
  struct Case {
    const char* name;
    v1::DeploymentStatus status;
    bool of_deployment;
    bool marked;
    size_t placed;
  };
  const Case cases[] = {{"the watcher has not", v1::DEPLOYMENT_STATUS_RUNNING, true, false, 0},
                        {"the watcher has", v1::DEPLOYMENT_STATUS_RUNNING, true, true, 1},
                        {"of an earlier deployment", v1::DEPLOYMENT_STATUS_RUNNING, false, false, 1},
                        {"of the failed deployment", v1::DEPLOYMENT_STATUS_FAILED, true, false, 0},
                        {"of an earlier one, and this one failed", v1::DEPLOYMENT_STATUS_FAILED, false, false, 1}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    world.job = make_job("service", 1);
    world.update(1);
    world.deploy(c.status, 1);
    v1::Allocation& alloc = world.add_deployed(0);
    if (!c.of_deployment) alloc.set_deployment_id("");
    alloc.set_client_status(v1::CLIENT_STATUS_FAILED);
    if (c.marked) alloc.mutable_desired_transition()->set_reschedule(true);
    EXPECT_EQ(world.plan().placements.size(), c.placed);
  }
}

TEST(Rollout, ForcedReschedulingAsksNoPolicy) {
  World world;
  world.group().mutable_reschedule_policy()->set_unlimited(false);
  world.run(1);
  world.allocs[0].set_client_status(v1::CLIENT_STATUS_FAILED);
  EXPECT_TRUE(world.plan().placements.empty());
  world.allocs[0].mutable_desired_transition()->set_force_reschedule(true);
  EXPECT_EQ(world.plan().placements.size(), 1U);
}

}  // namespace
}  // namespace drover::scheduler
