#include <gtest/gtest.h>

#include "allocations.h"
#include "runner/lifecycle.h"
#include "runner/restart_policy.h"
#include "runner/task_events.h"
#include "status_batch.h"

namespace drover::agent {
namespace {

using namespace std::chrono_literals;
using Action = RestartDecision::Action;
using Kind = TaskEnd::Kind;
using Progress = TaskView::Progress;
using KillReason = LifecycleDecision::KillReason;

TEST(RestartPolicy, DecidesByRuleHistoryAndEnd) {
  constexpr int64_t kMinute = 60'000'000'000;
  const RestartRule service{.attempts = 2, .interval = 30min, .delay = 15s, .on_success = true};
  const RestartRule batch{.attempts = 3, .interval = 24h, .delay = 15s};
  const RestartRule none{.attempts = 0, .interval = 30min, .delay = 15s, .on_success = true};
  const RestartRule patient{
      .attempts = 1, .interval = 10min, .delay = 15s, .mode = RestartRule::Mode::delay, .on_success = true};
  struct Case {
    const char* name;
    RestartRule rule;
    RestartHistory history;
    Kind end;
    int64_t now;
    double chance;
    Action action;
    std::chrono::nanoseconds delay;
    int32_t count;
    const char* reason;
  };
  const Case cases[] = {
      {"first failure", service, {}, Kind::failed, kMinute, 0, Action::restart, 15s, 1, "Restart within policy"},
      {"success of a service",
       service,
       {},
       Kind::succeeded,
       kMinute,
       0,
       Action::restart,
       15s,
       1,
       "Restart within policy"},
      {"success of a batch task",
       batch,
       {},
       Kind::succeeded,
       kMinute,
       0,
       Action::finish,
       0s,
       0,
       "Restart unnecessary as task terminated successfully"},
      {"full jitter is a quarter",
       service,
       {},
       Kind::failed,
       kMinute,
       1,
       Action::restart,
       18750ms,
       1,
       "Restart within policy"},
      {"one too many",
       service,
       {2, kMinute},
       Kind::failed,
       2 * kMinute,
       0,
       Action::fail,
       0s,
       3,
       "Exceeded allowed attempts 2 in interval 30m0s and mode is \"fail\""},
      {"a new interval forgets",
       service,
       {2, kMinute},
       Kind::failed,
       32 * kMinute,
       0,
       Action::restart,
       15s,
       1,
       "Restart within policy"},
      {"mode delay waits for the interval's end",
       patient,
       {1, kMinute},
       Kind::failed,
       3 * kMinute,
       0,
       Action::restart,
       8min,
       2,
       "Exceeded allowed attempts, applying a delay"},
      {"no attempts", none, {}, Kind::failed, kMinute, 0, Action::fail, 0s, 0, "Policy allows no restarts"},
      {"start may succeed later",
       service,
       {},
       Kind::start_failed,
       kMinute,
       0,
       Action::restart,
       15s,
       1,
       "Restart within policy"},
      {"start never succeeds",
       service,
       {},
       Kind::start_impossible,
       kMinute,
       0,
       Action::fail,
       0s,
       0,
       "Error was unrecoverable"},
      {"an operator's restart does not count",
       none,
       {},
       Kind::asked_to_restart,
       kMinute,
       0,
       Action::restart,
       0s,
       0,
       ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const RestartDecision decision = decide_restart(c.rule, c.history, {c.end}, c.now, c.chance);
    EXPECT_EQ(c.action, decision.action);
    EXPECT_EQ(c.delay, decision.delay);
    EXPECT_EQ(c.count, decision.history.count);
    EXPECT_EQ(c.reason, decision.reason);
  }
}

TaskView task(std::string name, Progress progress, TaskStage stage = TaskStage::main, bool sidecar = false) {
  return {.name = std::move(name), .stage = stage, .sidecar = sidecar, .progress = progress};
}

TEST(Lifecycle, StartsAndEndsTasksInOrder) {
  TaskView failed = task("web", Progress::dead);
  failed.failed = true;
  TaskView leader = task("lead", Progress::running);
  leader.leader = true;
  TaskView dead_leader = leader;
  dead_leader.progress = Progress::dead;
  struct Case {
    const char* name;
    std::vector<TaskView> tasks;
    bool stopping;
    std::vector<std::string> start;
    std::vector<std::string> kill;
    KillReason reason;
    bool done;
  };
  const Case cases[] = {
      {"main tasks start together",
       {task("a", Progress::waiting), task("b", Progress::waiting)},
       false,
       {"a", "b"},
       {},
       KillReason::none,
       false},
      {"prestart goes first",
       {task("a", Progress::waiting), task("init", Progress::waiting, TaskStage::prestart)},
       false,
       {"init"},
       {},
       KillReason::none,
       false},
      {"main waits for prestart",
       {task("a", Progress::waiting), task("init", Progress::running, TaskStage::prestart)},
       false,
       {},
       {},
       KillReason::none,
       false},
      {"prestart done",
       {task("a", Progress::waiting), task("init", Progress::dead, TaskStage::prestart)},
       false,
       {"a"},
       {},
       KillReason::none,
       false},
      {"prestart sidecar runs",
       {task("a", Progress::waiting), task("proxy", Progress::running, TaskStage::prestart, true)},
       false,
       {"a"},
       {},
       KillReason::none,
       false},
      {"poststart after main",
       {task("a", Progress::running), task("warm", Progress::waiting, TaskStage::poststart)},
       false,
       {"warm"},
       {},
       KillReason::none,
       false},
      {"poststop waits",
       {task("a", Progress::running), task("clean", Progress::waiting, TaskStage::poststop)},
       false,
       {},
       {},
       KillReason::none,
       false},
      {"poststop runs last",
       {task("a", Progress::dead), task("clean", Progress::waiting, TaskStage::poststop)},
       false,
       {"clean"},
       {},
       KillReason::none,
       false},
      {"sidecars end with the main tasks",
       {task("a", Progress::dead), task("proxy", Progress::running, TaskStage::prestart, true)},
       false,
       {},
       {"proxy"},
       KillReason::main_dead,
       false},
      {"a failure ends the siblings",
       {failed, task("b", Progress::running)},
       false,
       {},
       {"b"},
       KillReason::sibling_failed,
       false},
      {"poststop after a failure",
       {failed, task("clean", Progress::waiting, TaskStage::poststop)},
       false,
       {"clean"},
       {},
       KillReason::sibling_failed,
       false},
      {"the leader's end ends the others",
       {dead_leader, task("b", Progress::running)},
       false,
       {},
       {"b"},
       KillReason::leader_dead,
       false},
      {"stop ends the leader first",
       {leader, task("b", Progress::running)},
       true,
       {},
       {"lead"},
       KillReason::stop,
       false},
      {"stop ends waiting tasks", {task("a", Progress::waiting)}, true, {}, {"a"}, KillReason::stop, false},
      {"all dead", {task("a", Progress::dead)}, false, {}, {}, KillReason::none, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const LifecycleDecision decision = decide_lifecycle(c.tasks, c.stopping);
    EXPECT_EQ(c.start, decision.start);
    EXPECT_EQ(c.kill, decision.kill);
    EXPECT_EQ(c.reason, decision.reason);
    EXPECT_EQ(c.done, decision.done);
  }
}

TEST(AllocStatus, FollowsTheTasks) {
  TaskView failed = task("f", Progress::dead);
  failed.failed = true;
  struct Case {
    const char* name;
    std::vector<TaskView> tasks;
    AllocStatus status;
  };
  const Case cases[] = {
      {"nothing started", {task("a", Progress::waiting)}, AllocStatus::pending},
      {"between restarts", {task("a", Progress::starting)}, AllocStatus::pending},
      {"one runs, one waits", {task("a", Progress::running), task("b", Progress::waiting)}, AllocStatus::running},
      {"one failed, one runs", {failed, task("b", Progress::running)}, AllocStatus::failed},
      {"all ended", {task("a", Progress::dead), task("b", Progress::dead)}, AllocStatus::complete},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(c.status, alloc_status(c.tasks).status);
  }
}

TEST(StatusBatch, SendsUrgentChangesSoonAndMergesTheRest) {
  const SteadyTime start{};
  const Uuid a = Uuid::random(), b = Uuid::random();
  StatusBatch batch;
  EXPECT_FALSE(batch.due());

  batch.changed(a, false, start);
  EXPECT_EQ(start + 1s, batch.due());
  batch.changed(b, true, start + 100ms);
  EXPECT_EQ(start + 150ms, batch.due());

  EXPECT_TRUE(batch.take(start + 149ms).empty());
  EXPECT_EQ(2u, batch.take(start + 150ms).size());
  EXPECT_FALSE(batch.due());
}

TEST(StatusBatch, TriesAgainAfterAGrowingDelay) {
  const SteadyTime start{};
  const Uuid a = Uuid::random();
  StatusBatch batch;
  batch.changed(a, true, start);
  auto taken = batch.take(start + 1s);

  batch.failed(taken, start + 1s, 0);
  EXPECT_EQ(start + 1500ms, batch.due());
  batch.changed(a, true, start + 1s);
  EXPECT_EQ(start + 1500ms, batch.due());  // not sooner, however urgent
  taken = batch.take(start + 1500ms);
  EXPECT_EQ(1u, taken.size());

  batch.failed(taken, start + 2s, 0);
  EXPECT_EQ(start + 3s, batch.due());
  batch.take(start + 3s);
  batch.delivered();
  batch.changed(a, true, start + 3s);
  EXPECT_EQ(start + 3050ms, batch.due());
}

TEST(PullPlan, FetchesWhatARestoredStateHasInAnOlderForm) {
  const Uuid older = Uuid::random();
  EXPECT_EQ(std::vector<Uuid>{older}, plan_pull({{older, 6}}, {{older, 5}}).fetch);
}

TEST(PullPlan, TellsARestoredStateFromOneThatWentOn) {
  const Uuid a = Uuid::random(), b = Uuid::random(), fresh = Uuid::random();
  const std::map<Uuid, uint64_t> known = {{a, 5}, {b, 8}};
  struct Case {
    const char* name;
    std::map<Uuid, uint64_t> listed;
    uint64_t seen, now;
    bool is_restored;
  };
  const Case cases[] = {
      {"the first list", {{a, 3}}, 1, 20, false},
      {"a wait that ended without news", {{a, 5}, {b, 8}}, 8, 8, false},
      {"one has changed", {{a, 5}, {b, 9}}, 8, 9, false},
      {"one is new", {{a, 5}, {b, 8}, {fresh, 9}}, 8, 9, false},
      {"one is gone, which the index does not tell", {{b, 8}}, 8, 8, false},
      {"an older one", {{a, 5}, {b, 6}}, 8, 20, true},
      {"one that comes back", {{a, 5}, {b, 8}, {fresh, 7}}, 8, 20, true},
      {"one is gone at another index", {{b, 8}}, 8, 20, true},
      {"the same ones at another index", {{a, 5}, {b, 8}}, 8, 20, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(c.is_restored, was_restored(known, c.listed, c.seen, c.now));
  }
}

TEST(PullPlan, FetchesWhatIsNewAndForgetsWhatIsGone) {
  const Uuid same = Uuid::random(), changed = Uuid::random(), gone = Uuid::random(), fresh = Uuid::random();
  const PullPlan plan = plan_pull({{same, 5}, {changed, 5}, {gone, 5}}, {{same, 5}, {changed, 6}, {fresh, 7}});
  std::vector<Uuid> fetch = {changed, fresh};
  std::ranges::sort(fetch);
  EXPECT_EQ(fetch, plan.fetch);
  EXPECT_EQ(std::vector<Uuid>{gone}, plan.gone);
}

TEST(TaskEvents, AreShownInTheWordsOperatorsKnow) {
  EXPECT_EQ("Exit Code: 1", event::terminated(1, {1, 0, false, ""}).display_message());
  EXPECT_EQ("Exit Code: 137, Signal: 9, Exit Message: \"OOM Killed\"",
            event::terminated(1, {137, 9, true, ""}).display_message());
  EXPECT_EQ("Task restarting in 15s", event::restarting(1, 15s, "Restart within policy").display_message());
  EXPECT_EQ("Sent interrupt. Waiting 5s before force killing", event::killing(1, 5s, "").display_message());
  EXPECT_EQ("Task's sibling \"db\" failed", event::sibling_failed(1, "db").display_message());
}

TEST(TaskEvents, OnlyTheLastTenAreKept) {
  v1::TaskState state;
  for (int i = 1; i <= 12; ++i) event::append(state, event::started(i));
  EXPECT_EQ(10, state.events_size());
  EXPECT_EQ(3, state.events(0).time());
  EXPECT_FALSE(state.failed());
  event::append(state, event::not_restarting(13, "Policy allows no restarts"));
  EXPECT_TRUE(state.failed());
}

}  // namespace
}  // namespace drover::agent
