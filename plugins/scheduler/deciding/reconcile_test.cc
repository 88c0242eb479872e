#include "reconcile.h"

#include <gtest/gtest.h>

#include "descriptions.h"
#include "reschedule.h"
#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'000'000 * kSecond;

// A job, its allocations, and the nodes that are down.
struct World {
  v1::Job job = make_job();
  std::map<uint64_t, v1::Job> versions;
  std::vector<v1::Allocation> allocs;
  std::set<std::string> down;
  bool gone = false;

  GroupPlan plan(const std::string& eval = "eval") const {
    ReconcileInput input;
    input.job = gone ? nullptr : &job;
    input.is_batch = job.type() == "batch";
    input.allocs = allocs;
    input.node_status = [this](const std::string& id) {
      return down.contains(id) ? v1::NODE_STATUS_DOWN : v1::NODE_STATUS_READY;
    };
    input.version = [this](uint64_t version) -> const v1::Job* {
      auto at = versions.find(version);
      return at == versions.end() ? nullptr : &at->second;
    };
    input.may_stay = [](const v1::Allocation&, const v1::TaskGroup&) { return true; };
    input.now = kNow;
    input.eval_id = id_of(eval);
    return reconcile(input).groups["app"];
  }
  // The job as it stands becomes an earlier version.
  void next_version() {
    versions[job.version()] = job;
    job.set_version(job.version() + 1);
  }
  void run(int count) {
    for (int i = 0; i < count; ++i) allocs.push_back(make_alloc(job, i, "n" + std::to_string(i)));
  }
};

std::vector<std::string> names(const std::vector<Placement>& placements) {
  std::vector<std::string> names;
  for (const Placement& placement : placements) names.push_back(placement.name);
  return names;
}

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

TEST(Reconcile, LimitsDestructiveUpdates) {
  struct Case {
    const char* name;
    int max_parallel;
    int starting;  // of the new version, not running yet
    size_t updated;
  };
  const Case cases[] = {{"one at a time", 1, 0, 1},
                        {"waits for the one that starts", 1, 1, 0},
                        {"two", 2, 1, 1},
                        {"all at once", 0, 1, 3}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    world.job = make_job("service", 4);
    world.run(4);
    world.next_version();
    world.job.mutable_task_groups(0)->mutable_tasks(0)->set_user("other");
    world.job.mutable_task_groups(0)->mutable_update()->set_max_parallel(c.max_parallel);
    world.allocs[0].set_job_version(1);
    if (c.starting) world.allocs[0].set_client_status(v1::CLIENT_STATUS_PENDING);
    const GroupPlan plan = world.plan();
    EXPECT_EQ(plan.destructive.size(), c.updated);
    EXPECT_TRUE(plan.in_place.empty());
    if (c.updated > 0) {
      EXPECT_EQ(plan.destructive[0].name, "web.app[1]");
      EXPECT_EQ(plan.destructive[0].stop_previous, kUpdating);
    }
  }
}

TEST(Reconcile, ARollingUpdateWaitsUntilWhatItStartedIsHealthy) {
  struct Case {
    const char* name;
    int64_t ago;      // since the new allocation's task started
    int64_t restart;  // since it restarted last; 0: never
    size_t updated;
    int64_t recheck;  // from now; 0: none
  };
  const Case cases[] = {{"just started", 2 * kSecond, 0, 0, 8 * kSecond},
                        {"healthy", 10 * kSecond, 0, 1, 0},
                        {"restarted since", 30 * kSecond, 4 * kSecond, 0, 6 * kSecond}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    world.job = make_job("service", 3);
    world.run(3);
    world.next_version();
    world.job.mutable_task_groups(0)->mutable_tasks(0)->set_user("other");
    v1::UpdateStrategy& update = *world.job.mutable_task_groups(0)->mutable_update();
    update.set_max_parallel(1);
    update.set_min_healthy_time(10 * kSecond);
    world.allocs[0].set_job_version(1);
    v1::TaskState& task = (*world.allocs[0].mutable_task_states())["main"];
    task.set_started_at(kNow - c.ago);
    if (c.restart) task.set_last_restart(kNow - c.restart);
    const GroupPlan plan = world.plan();
    EXPECT_EQ(plan.destructive.size(), c.updated);
    EXPECT_EQ(plan.recheck_at ? *plan.recheck_at - kNow : 0, c.recheck);
  }
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

TEST(Reconcile, KnowsWhatNeedsAReplacement) {
  struct Case {
    const char* name;
    void (*change)(v1::Job&);
    bool replaced;
  };
  const Case cases[] = {
      {"count", [](v1::Job& j) { j.mutable_task_groups(0)->set_count(9); }, false},
      {"constraint", [](v1::Job& j) { j.mutable_task_groups(0)->add_constraints()->set_operand("is_set"); }, false},
      {"job meta", [](v1::Job& j) { (*j.mutable_meta())["k"] = "v"; }, true},
      {"environment", [](v1::Job& j) { (*j.mutable_task_groups(0)->mutable_tasks(0)->mutable_env())["k"] = "v"; },
       true},
      {"memory", [](v1::Job& j) { j.mutable_task_groups(0)->mutable_tasks(0)->mutable_resources()->set_memory_mb(1); },
       true},
      {"network", [](v1::Job& j) { j.mutable_task_groups(0)->add_networks(); }, true},
      {"disk", [](v1::Job& j) { j.mutable_task_groups(0)->mutable_ephemeral_disk()->set_size_mb(1); }, true},
      {"another task", [](v1::Job& j) { j.mutable_task_groups(0)->add_tasks()->set_name("b"); }, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const v1::Job from = make_job();
    v1::Job to = from;
    c.change(to);
    EXPECT_EQ(needs_replacement(from, from.task_groups(0), to, to.task_groups(0)), c.replaced);
  }
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

TEST(Reschedule, DelaysGrowByTheirFunction) {
  struct Case {
    const char* function;
    std::vector<int64_t> before;  // seconds
    int64_t delay;
  };
  const Case cases[] = {{"constant", {}, 30},        {"constant", {30, 30}, 30},     {"exponential", {}, 30},
                        {"exponential", {30}, 60},   {"exponential", {30, 60}, 120}, {"exponential", {240}, 300},
                        {"fibonacci", {}, 30},       {"fibonacci", {30}, 30},        {"fibonacci", {30, 30}, 60},
                        {"fibonacci", {30, 60}, 90}, {"fibonacci", {180, 270}, 300}, {"fibonacci", {300, 30}, 30}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.function + std::to_string(c.before.size()));
    v1::ReschedulePolicy policy;
    policy.set_unlimited(true);
    policy.set_delay(30 * kSecond);
    policy.set_max_delay(300 * kSecond);
    policy.set_delay_function(c.function);
    v1::Allocation alloc;
    alloc.set_modify_time(kNow);
    for (const int64_t delay : c.before) {
      v1::RescheduleEvent& event = *alloc.mutable_reschedule_tracker()->add_events();
      event.set_delay(delay * kSecond);
      event.set_reschedule_time(kNow - 10 * kSecond);
    }
    EXPECT_EQ(next_delay(alloc, policy) / kSecond, c.delay);
  }
}

TEST(Reschedule, BeginsAgainAfterALongRun) {
  v1::ReschedulePolicy policy;
  policy.set_unlimited(true);
  policy.set_delay(30 * kSecond);
  policy.set_max_delay(60 * kSecond);
  policy.set_delay_function("exponential");
  v1::Allocation alloc;
  alloc.set_modify_time(kNow);
  v1::RescheduleEvent& event = *alloc.mutable_reschedule_tracker()->add_events();
  event.set_delay(60 * kSecond);
  event.set_reschedule_time(kNow - 1000 * kSecond);
  EXPECT_EQ(next_delay(alloc, policy), 30 * kSecond);
}

}  // namespace
}  // namespace drover::scheduler
