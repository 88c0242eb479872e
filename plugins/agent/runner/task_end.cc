// How a task's run ends, and what follows: by itself, by order, in a restart or for good.
#include <algorithm>
#include <random>

#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/mutex.h"
#include "nomad/plugins/driver.pb.h"
#include "task_events.h"
#include "task_runner.h"

namespace drover::agent {
namespace {

using Progress = TaskView::Progress;

constexpr int kStopTries = 5;

double chance() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(generator);
}

}  // namespace

// A kill while nothing of the task runs.
Async<TaskRunner::Next> TaskRunner::give_up(Kill kill) {
  change([&]() DROVER_REQUIRES(mutex_) {
    append_reason(kill);
    event::append(*stored_.mutable_state(), event::killing(client_.wall_ns(), {}, ""));
    event::append(*stored_.mutable_state(), event::killed(client_.wall_ns(), ""));
  });
  co_await die(kill.fails);
  co_return Next::settle;
}

void TaskRunner::append_reason(const Kill& kill) {
  if (!kill.reason.type().empty()) event::append(*stored_.mutable_state(), kill.reason);
}

// Carries out the orders that came while the task runs; nothing: it is watched on.
Async<TaskRunner::Next> TaskRunner::obey() {
  std::optional<Kill> kill;
  std::optional<Restart> restart;
  bool is_updated = false;
  {
    MutexLock lock(mutex_);
    if (orders_.detach) {
      running_ = false;
      co_return Next::detached;
    }
    kill = orders_.kill;
    restart = std::exchange(orders_.restart, std::nullopt);
    is_updated = std::exchange(orders_.update, false);
  }
  if (is_updated) co_await call_hooks([](TaskHooks& hooks) { hooks.update(); });
  if (kill) {
    const bool has_ended = co_await end_task(*kill);
    if (!has_ended) co_return Next::detached;
    co_await die(kill->fails);
    co_return Next::settle;
  }
  if (!restart) co_return Next::watch;
  tell(event::restart_signaled(client_.wall_ns(), restart->reason));
  const bool has_ended = co_await end_task({});
  if (!has_ended) co_return Next::detached;
  co_return co_await after_end({restart->as});
}

Async<Result<driver::ExitResult>> TaskRunner::wait_exit(std::string id) {
  const std::stop_token stop = arm();
  // A driver that cannot tell is waited for on a thread.
  const auto watch = [this, &id, &stop](const TaskDriver::TellExit& tell) {
    if (driver_->watch_task(id, stop, tell)) return;
    const auto wait = [this, id, stop, tell] { tell(driver_->wait_task(id, stop)); };
    DROVER_CHECK(client_.pool.run_blocking(wait).ok());
  };
  co_return co_await strand_.told<Result<driver::ExitResult>>(watch);
}

Async<TaskRunner::Next> TaskRunner::watch() {
  std::string id;
  {
    MutexLock lock(mutex_);
    id = stored_.handle().config().id();
  }
  const Result<driver::ExitResult> exit = co_await wait_exit(id);
  const Code code = exit.status().code();
  // The error is the driver's and not the task's: the driver may be stopping, or have too much to do.
  const bool is_away = code == Code::unavailable || code == Code::resource_exhausted;
  if (is_away)
    co_await wait_orders(client_.now() + kAskAgain, [this]() DROVER_REQUIRES(mutex_) { return interrupted(); });
  if (code == Code::cancelled || is_away) co_return co_await obey();
  co_await process_ended(id);
  event::Exit shown{-1, 0, false, exit.status().message()};
  if (exit) shown = {exit->exit_code(), exit->signal(), exit->oom_killed(), ""};
  if (shown.oom_killed) client_.host.metrics().add("nomad.client.allocs.oom_killed");
  {
    // Stored together with what follows from it.
    MutexLock lock(mutex_);
    event::append(*stored_.mutable_state(), event::terminated(client_.wall_ns(), shown));
  }
  const bool success = exit && shown.code == 0 && shown.signal == 0;
  co_return co_await after_end({success ? TaskEnd::Kind::succeeded : TaskEnd::Kind::failed});
}

// The output of the process is in the files before its end is told.
Async<> TaskRunner::process_ended(std::string id) {
  DROVER_ASSERT_ON(strand_);
  {
    MutexLock lock(mutex_);
    running_ = false;
    stored_.clear_handle();
  }
  ended_ids_.push_back(std::move(id));
  co_await call_hooks([](TaskHooks& hooks) { hooks.exited(); });
}

// After the decision about the task's end is on disk: the driver's record of it is needed until then.
Async<> TaskRunner::release() {
  DROVER_ASSERT_ON(strand_);
  const std::vector<std::string> ids = std::exchange(ended_ids_, {});
  if (ids.empty() || !driver_) co_return;
  const auto destroy = [this, &ids] {
    for (const std::string& id : ids) {
      if (Status status = driver_->destroy_task(id, true); !status.ok() && status.code() != Code::not_found)
        log::warn("agent", "task not destroyed", {{"task", name_}, {"error", status.message()}});
    }
    return true;
  };
  co_await strand_.borrow(destroy);
}

// Asks again while the driver is being restarted. Cancelled: the task is left as it is, because of detach.
Async<Status> TaskRunner::stop_task(std::string id, std::chrono::nanoseconds timeout, std::string signal) {
  const auto stop = [this, &id, timeout, &signal] { return driver_->stop_task(id, timeout, signal); };
  Status stopped = co_await strand_.borrow(stop);
  std::chrono::seconds pause = kAskAgain;
  for (int tries = 1; tries < kStopTries && stopped.code() == Code::unavailable; ++tries, pause *= 2) {
    const bool is_left =
        co_await wait_orders(client_.now() + pause, [this]() DROVER_REQUIRES(mutex_) { return orders_.detach; });
    if (is_left) co_return cancelled("the agent ends");
    stopped = co_await strand_.borrow(stop);
  }
  co_return stopped.code() == Code::not_found ? ok_status() : stopped;
}

Async<bool> TaskRunner::end_task(Kill kill) {
  const v1::Task task = current_task();
  std::string id;
  {
    MutexLock lock(mutex_);
    id = stored_.handle().config().id();
  }
  auto timeout = std::chrono::nanoseconds(task.has_kill_timeout() ? task.kill_timeout() : 5'000'000'000);
  timeout = std::min(timeout, client_.config.max_kill_timeout);
  if (kill.timeout_cap) timeout = std::min(timeout, *kill.timeout_cap);
  co_await call_hooks([](TaskHooks& hooks) { hooks.prekill(); });
  if (kill.delay.count() > 0) {
    tell(event::shutdown_delay(client_.wall_ns(), kill.delay));
    const bool is_left =
        co_await wait_orders(client_.now() + kill.delay, [this]() DROVER_REQUIRES(mutex_) { return orders_.detach; });
    if (is_left) co_return false;
  }
  change([&]() DROVER_REQUIRES(mutex_) {
    append_reason(kill);
    event::append(*stored_.mutable_state(), event::killing(client_.wall_ns(), timeout, ""));
  });
  const Status stopped = co_await stop_task(id, timeout, task.kill_signal());
  if (stopped.code() == Code::cancelled) co_return false;
  event::Exit shown{-1, 0, false, "the result is not known"};
  if (stopped.ok()) {
    const auto ask = [this, &id] { return driver_->wait_task(id, {}); };  // all of it is gone: the answer is there
    const Result<driver::ExitResult> exit = co_await strand_.borrow(ask);
    if (exit) {
      shown = {exit->exit_code(), exit->signal(), exit->oom_killed(), ""};
    } else {
      shown.message += ": " + exit.status().message();
    }
  }
  co_await process_ended(id);
  MutexLock lock(mutex_);
  event::append(*stored_.mutable_state(), event::terminated(client_.wall_ns(), shown));
  event::append(*stored_.mutable_state(), event::killed(client_.wall_ns(), stopped.message()));
  co_return true;
}

Async<TaskRunner::Next> TaskRunner::after_end(TaskEnd end) {
  std::optional<Kill> kill;
  RestartDecision decision;
  bool is_wanted = true;
  {
    MutexLock lock(mutex_);
    // The order to end it may still be on its way, or have been carried out by an agent that was killed.
    is_wanted = stage_ == TaskStage::poststop || !wants_stop(*spec_);
    const v1::Task& task = *spec_->task(name_);
    const v1::RestartPolicy& policy =
        task.has_restart_policy() ? task.restart_policy() : spec_->group->restart_policy();
    const RestartRule rule = restart_rule(policy, is_long_running(task, spec_->job->type()));
    decision = decide_restart(rule, {stored_.restart_count(), stored_.restart_window_began()}, end, client_.wall_ns(),
                              chance());
    kill = orders_.kill;
    orders_.restart.reset();
    orders_.update = false;  // the next start has it
  }
  if (kill || !is_wanted) {
    // It ended by itself while being told to.
    if (kill) change([&]() DROVER_REQUIRES(mutex_) { append_reason(*kill); });
    co_await die((kill && kill->fails) || end.kind == TaskEnd::Kind::start_impossible);
    co_return Next::settle;
  }
  if (decision.action != RestartDecision::Action::restart) {
    const bool failed = decision.action == RestartDecision::Action::fail;
    if (failed) {
      MutexLock lock(mutex_);
      event::append(*stored_.mutable_state(), event::not_restarting(client_.wall_ns(), decision.reason));
    }
    co_await die(failed);
    co_return Next::settle;
  }
  client_.host.metrics().add("nomad.client.allocs.restart");
  change([&]() DROVER_REQUIRES(mutex_) {
    stored_.set_restart_count(decision.history.count);
    stored_.set_restart_window_began(decision.history.window_began);
    progress_ = Progress::starting;
    v1::TaskState& state = *stored_.mutable_state();
    state.set_state("pending");
    state.set_restarts(state.restarts() + 1);
    state.set_last_restart(client_.wall_ns());
    event::append(state, event::restarting(client_.wall_ns(), decision.delay, decision.reason));
  });
  co_await release();
  co_await wait_orders(client_.now() + decision.delay,
                       [this]() DROVER_REQUIRES(mutex_) { return orders_.detach || orders_.kill; });
  {
    MutexLock lock(mutex_);
    if (orders_.detach) co_return Next::detached;
    if (!orders_.kill) co_return Next::start;
    kill = orders_.kill;
  }
  co_return co_await give_up(*std::move(kill));
}

Async<> TaskRunner::die(bool failed) {
  change([&]() DROVER_REQUIRES(mutex_) {
    progress_ = Progress::dead;
    stored_.clear_handle();
    v1::TaskState& state = *stored_.mutable_state();
    state.set_state("dead");
    state.set_finished_at(client_.wall_ns());
    if (failed) state.set_failed(true);
  });
  co_await release();
}

Async<TaskRunner::Next> TaskRunner::wait_when_dead() {
  co_await wait_orders({},
                       [this]() DROVER_REQUIRES(mutex_) { return orders_.detach || orders_.finish || orders_.revive; });
  std::string reason;
  bool is_over = false;
  {
    MutexLock lock(mutex_);
    if (orders_.detach) co_return Next::detached;
    is_over = orders_.finish;
    if (!is_over) {
      reason = *std::move(orders_.revive);
      orders_ = {};
    }
  }
  if (is_over) {
    co_await call_hooks([](TaskHooks& hooks) { hooks.stop(); });
    co_return Next::finished;
  }
  change([&]() DROVER_REQUIRES(mutex_) {
    progress_ = Progress::waiting;
    v1::TaskState& state = *stored_.mutable_state();
    state.set_state("pending");
    state.set_failed(false);
    state.set_finished_at(0);
    state.set_restarts(state.restarts() + 1);
    state.set_last_restart(client_.wall_ns());
    event::append(state, event::restart_signaled(client_.wall_ns(), reason));
  });
  co_return co_await await_permission();
}

}  // namespace drover::agent
