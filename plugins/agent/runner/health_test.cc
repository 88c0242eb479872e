#include "runner/health.h"

#include <gtest/gtest.h>

#include "drover/v1/job.pb.h"
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kSecond = 1'000'000'000;

TaskHealth running_since(int64_t seconds, TaskStage stage = TaskStage::main, bool sidecar = false) {
  TaskHealth task{.stage = stage, .sidecar = sidecar, .state = {}};
  task.state.set_state("running");
  task.state.set_started_at(seconds * kSecond);
  return task;
}
TaskHealth in_state(const char* state, TaskStage stage = TaskStage::main, bool failed = false) {
  TaskHealth task{.stage = stage, .sidecar = false, .state = {}};
  task.state.set_state(state);
  task.state.set_failed(failed);
  return task;
}

// Watched since 100 s, healthy after ten seconds, unhealthy at 160 s.
TEST(Health, IsJudgedByWhatTheTasksDo) {
  const HealthRule rule{.min_healthy_time = 10s, .healthy_deadline = 60s};
  struct Case {
    const char* name;
    std::vector<TaskHealth> tasks;
    int64_t now;  // seconds
    std::optional<bool> healthy;
    int64_t next;
  };
  const Case cases[] = {
      {"not started", {in_state("pending")}, 105, {}, 160},
      {"not started by the deadline", {in_state("pending")}, 160, false, 0},
      {"has just started", {running_since(105)}, 106, {}, 115},
      {"has run long enough", {running_since(105)}, 115, true, 0},
      {"the last to start counts", {running_since(105), running_since(120)}, 116, {}, 130},
      {"one waits still", {running_since(105), in_state("pending")}, 120, {}, 160},
      {"started again late", {running_since(155)}, 159, {}, 160},
      {"not long enough by the deadline", {running_since(155)}, 160, false, 0},
      {"failed", {running_since(105), in_state("dead", TaskStage::main, true)}, 106, false, 0},
      {"a main task has ended", {in_state("dead")}, 106, false, 0},
      {"a preparation has ended", {in_state("dead", TaskStage::prestart), running_since(101)}, 111, true, 0},
      {"a preparation has failed", {in_state("dead", TaskStage::prestart, true), in_state("pending")}, 106, false, 0},
      {"a companion must run", {running_since(101, TaskStage::prestart, true), running_since(102)}, 112, true, 0},
      {"what cleans up later does not matter",
       {running_since(101), in_state("pending", TaskStage::poststop)},
       111,
       true,
       0},
  };
  for (const Case& each : cases) {
    const HealthVerdict verdict = judge_health(rule, {.tasks = each.tasks}, 100 * kSecond, each.now * kSecond);
    EXPECT_EQ(verdict.healthy, each.healthy) << each.name;
    EXPECT_EQ(verdict.next, each.next * kSecond) << each.name;
  }
}

// As above, with a task that runs since 105 s.
TEST(Health, IsJudgedByThePartsOfHooksWhereTheJobAsks) {
  const PartHealth good{.since_ns = 120 * kSecond};
  const PartHealth bad{.is_good = false, .faults = {{"", "Services not healthy by deadline: web"}}};
  struct Case {
    const char* name;
    bool asks_hooks;
    std::vector<PartHealth> parts;
    int64_t now;  // seconds
    std::optional<bool> healthy;
    int64_t next;
  };
  const Case cases[] = {
      {"none has anything to say", true, {}, 115, true, 0},
      {"not good yet", true, {bad}, 115, {}, 160},
      {"good, not for long enough", true, {good}, 121, {}, 130},
      {"good for long enough", true, {good}, 130, true, 0},
      {"one of two", true, {good, bad}, 140, {}, 160},
      {"not good by the deadline", true, {bad}, 160, false, 0},
      {"not good, which nobody asks for", false, {bad}, 115, true, 0},
      {"good, which nobody asks for", false, {good}, 115, true, 0},
  };
  for (const Case& each : cases) {
    const HealthRule rule{.min_healthy_time = 10s, .healthy_deadline = 60s, .asks_hooks = each.asks_hooks};
    const HealthFacts facts{.tasks = {running_since(105)}, .parts = each.parts};
    const HealthVerdict verdict = judge_health(rule, facts, 100 * kSecond, each.now * kSecond);
    EXPECT_EQ(verdict.healthy, each.healthy) << each.name;
    EXPECT_EQ(verdict.next, each.next * kSecond) << each.name;
  }
}

TEST(Health, SaysWhichPartIsToBlame) {
  const PartHealth part{.is_good = false, .faults = {{"", "a"}, {"web", "b"}}};
  EXPECT_EQ(unhealthy_reason(part, "web"), "a; b");
  EXPECT_EQ(unhealthy_reason(part, "db"), "a");
  EXPECT_EQ(unhealthy_reason(PartHealth(), "web"), "");
}

TEST(Health, SaysWhichTaskIsToBlame) {
  const HealthRule rule{.min_healthy_time = 10s, .healthy_deadline = 60s};
  const auto why = [&](const TaskHealth& task) { return unhealthy_reason(rule, task, 100 * kSecond); };
  EXPECT_EQ(why(in_state("dead", TaskStage::main, true)), "Unhealthy because of failed task");
  EXPECT_EQ(why(in_state("pending")), "Task not running by healthy_deadline of 1m0s");
  EXPECT_EQ(why(running_since(155)), "Task not running for min_healthy_time of 10s by healthy_deadline of 1m0s");
  EXPECT_EQ(why(running_since(101)), "");
}

AllocSpec spec_of(const std::string& deployment, const std::string& health_check = "task_states",
                  const std::string& type = "service") {
  auto job = std::make_shared<v1::Job>();
  job->set_type(type);
  v1::TaskGroup& group = *job->add_task_groups();
  group.set_name("front");
  group.mutable_update()->set_health_check(health_check);
  group.mutable_update()->set_min_healthy_time(10 * kSecond);
  group.mutable_update()->set_healthy_deadline(60 * kSecond);
  group.mutable_migrate()->set_min_healthy_time(5 * kSecond);
  group.mutable_migrate()->set_healthy_deadline(30 * kSecond);
  v1::Allocation alloc;
  alloc.set_task_group("front");
  alloc.set_deployment_id(deployment);
  return {std::move(alloc), std::move(job)};
}

TEST(Health, RulesAreTheUpdateBlocksInADeploymentAndElseTheMigrateBlocks) {
  EXPECT_EQ(health_rule(spec_of("d"))->min_healthy_time, 10s);
  EXPECT_EQ(health_rule(spec_of("d", "checks"))->healthy_deadline, 60s);
  EXPECT_TRUE(health_rule(spec_of("d", "checks"))->asks_hooks);
  EXPECT_FALSE(health_rule(spec_of("d", "task_states"))->asks_hooks);
  EXPECT_EQ(health_rule(spec_of(""))->min_healthy_time, 5s);
  EXPECT_FALSE(health_rule(spec_of("d", "manual"))) << "a person decides";
  EXPECT_TRUE(health_rule(spec_of("", "manual"))) << "which is about deployments";
  EXPECT_FALSE(health_rule(spec_of("d", "task_states", "batch")));
}

TEST(Health, IsDecidedOnceForEachDeployment) {
  HealthWatch watch({});
  const HealthFacts up{.tasks = {running_since(100)}};
  EXPECT_TRUE(watch.look(spec_of("d1"), up, 101 * kSecond)) << "when it began is kept";
  EXPECT_EQ(watch.next(), 110 * kSecond);
  EXPECT_FALSE(watch.report(spec_of("d1")));
  EXPECT_TRUE(watch.look(spec_of("d1"), up, 110 * kSecond));
  ASSERT_TRUE(watch.report(spec_of("d1")));
  EXPECT_TRUE(watch.report(spec_of("d1"))->healthy());
  EXPECT_EQ(watch.report(spec_of("d1"))->timestamp(), 110 * kSecond);
  const HealthFacts failed{.tasks = {in_state("dead", TaskStage::main, true)}};
  EXPECT_FALSE(watch.look(spec_of("d1"), failed, 120 * kSecond)) << "it was healthy";

  EXPECT_FALSE(watch.report(spec_of("d2"))) << "of another deployment";
  EXPECT_TRUE(watch.look(spec_of("d2"), failed, 130 * kSecond));
  EXPECT_FALSE(watch.report(spec_of("d2"))->healthy());
}

TEST(Health, OutlivesTheAgent) {
  HealthWatch before({});
  before.look(spec_of("d1"), {.tasks = {in_state("pending")}}, 100 * kSecond);
  HealthWatch after(before.stored());
  EXPECT_TRUE(after.look(spec_of("d1"), {.tasks = {in_state("pending")}}, 160 * kSecond));
  EXPECT_FALSE(after.report(spec_of("d1"))->healthy()) << "the deadline is that of the beginning";
}

TEST(Health, TheServersWordStandsAndACanaryStaysOne) {
  HealthWatch watch({});
  const HealthFacts up{.tasks = {running_since(1)}};
  AllocSpec canary = spec_of("d1");
  v1::Allocation alloc = *canary.allocation;
  alloc.mutable_deployment_status()->set_canary(true);
  const AllocSpec flagged(alloc, canary.job);
  watch.look(flagged, up, 100 * kSecond);
  EXPECT_TRUE(watch.report(flagged)->canary());
  alloc.mutable_deployment_status()->set_healthy(false);
  EXPECT_FALSE(watch.report(AllocSpec(alloc, canary.job)));
}

class HealthOfAllocations : public AgentTest {
 protected:
  std::string place_in_deployment(const v1::Task& task, int64_t min_healthy_time) {
    v1::Job job;
    job.set_id("web");
    job.set_namespace_("default");
    job.set_type("service");
    v1::TaskGroup& group = *job.add_task_groups();
    group.set_name("front");
    group.mutable_restart_policy()->set_mode("fail");
    group.mutable_restart_policy()->set_interval(60 * kSecond);
    group.mutable_update()->set_health_check("checks");
    group.mutable_update()->set_min_healthy_time(min_healthy_time);
    group.mutable_update()->set_healthy_deadline(3600 * kSecond);
    *group.add_tasks() = task;
    v1::Allocation alloc;
    alloc.set_id(Uuid::random().bytes());
    alloc.set_namespace_("default");
    alloc.set_job_id("web");
    alloc.set_task_group("front");
    alloc.set_deployment_id("dddddddddddddddd");
    alloc.mutable_deployment_status()->set_canary(true);
    alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
    servers_.place(alloc, job);
    return alloc.id();
  }
  static bool has_health(const v1::Allocation& alloc) { return alloc.deployment_status().has_healthy(); }
};

TEST_F(HealthOfAllocations, IsToldWhenItsTimeHasCome) {
  start();
  const std::string id = place_in_deployment(task("web"), kSecond / 5);
  const v1::Allocation told = servers_.until(id, has_health);
  EXPECT_TRUE(told.deployment_status().healthy());
  EXPECT_TRUE(told.deployment_status().canary());
  EXPECT_GE(told.deployment_status().timestamp(), told.task_states().at("web").started_at() + kSecond / 5);
}

TEST_F(HealthOfAllocations, AFailedTaskIsUnhealthyAtOnce) {
  start();
  const std::string id = place_in_deployment(task("web"), 3000 * kSecond);
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  driver_.finish("web", 1);
  const v1::Allocation told = servers_.until(id, has_health);
  ASSERT_TRUE(has_health(told));
  EXPECT_FALSE(told.deployment_status().healthy());
  const v1::Allocation event_told = servers_.until(id, [](const v1::Allocation& alloc) {
    const auto types = event_types(alloc.task_states().at("web"));
    return std::ranges::find(types, "Alloc Unhealthy") != types.end();
  });
  EXPECT_EQ(event_types(event_told.task_states().at("web")).back(), "Alloc Unhealthy");
}

TEST_F(HealthOfAllocations, IsKnownAfterARestartOfTheAgent) {
  start();
  const std::string id = place_in_deployment(task("web"), kSecond / 5);
  const v1::Allocation told = servers_.until(id, has_health);
  stop();
  servers_.expect_another_agent();
  start();
  const v1::Allocation again = servers_.until(id, has_health);
  EXPECT_EQ(again.deployment_status().timestamp(), told.deployment_status().timestamp());
}

}  // namespace
}  // namespace drover::agent
