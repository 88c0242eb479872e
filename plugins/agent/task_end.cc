// How a task's run ends, and what follows: by itself, by order, in a restart or for good.
#include <algorithm>
#include <random>

#include "drover/log.h"
#include "drover/metrics.h"
#include "nomad/plugins/driver.pb.h"
#include "task_events.h"
#include "task_runner.h"
#include "task_setup.h"

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
TaskRunner::Next TaskRunner::give_up(const Kill& kill) {
  change([&] {
    append_reason(kill);
    event::append(*stored_.mutable_state(), event::killing(client_.wall_ns(), {}, ""));
    event::append(*stored_.mutable_state(), event::killed(client_.wall_ns(), ""));
  });
  die(false);
  return Next::settle;
}

void TaskRunner::append_reason(const Kill& kill) {
  if (!kill.reason.type().empty()) event::append(*stored_.mutable_state(), kill.reason);
}

// What was ordered while the task runs; nothing: it is watched on.
TaskRunner::Next TaskRunner::obey() {
  std::optional<Kill> kill;
  std::optional<std::string> restart;
  {
    std::lock_guard lock(mutex_);
    if (orders_.detach) {
      running_ = false;
      return Next::detached;
    }
    kill = orders_.kill;
    restart = std::exchange(orders_.restart, std::nullopt);
  }
  if (kill) {
    if (!end_task(*kill)) return Next::detached;
    die(false);
    return Next::settle;
  }
  if (!restart) return Next::watch;
  change([&] { event::append(*stored_.mutable_state(), event::restart_signaled(client_.wall_ns(), *restart)); });
  if (!end_task({})) return Next::detached;
  return after_end({TaskEnd::Kind::asked_to_restart});
}

TaskRunner::Next TaskRunner::watch() {
  const std::string id = [&] {
    std::lock_guard lock(mutex_);
    return stored_.handle().config().id();
  }();
  auto exit = driver_->wait_task(id, arm());
  const Code code = exit.status().code();
  // Of the driver and not of the task: it may be stopping, or have too much to do.
  const bool is_away = code == Code::unavailable || code == Code::resource_exhausted;
  if (is_away) wait_orders(client_.now() + kAskAgain, [&] { return interrupted(); });
  if (code == Code::cancelled || is_away) return obey();
  process_ended(id);
  event::Exit shown{-1, 0, false, exit.status().message()};
  if (exit) shown = {exit->exit_code(), exit->signal(), exit->oom_killed(), ""};
  if (shown.oom_killed) client_.host.metrics().add("nomad.client.allocs.oom_killed");
  {
    // Stored together with what follows from it.
    std::lock_guard lock(mutex_);
    event::append(*stored_.mutable_state(), event::terminated(client_.wall_ns(), shown));
  }
  const bool success = exit && shown.code == 0 && shown.signal == 0;
  return after_end({success ? TaskEnd::Kind::succeeded : TaskEnd::Kind::failed});
}

// What it printed is in the files before its end is told.
void TaskRunner::process_ended(const std::string& id) {
  v1::Task task;
  {
    std::lock_guard lock(mutex_);
    task = task_;
    running_ = false;
    stored_.clear_handle();
  }
  ended_ids_.push_back(id);
  client_.devices.release(holder_);
  client_.logs.drain(log_stream(dir_, task, "stdout"));
  client_.logs.drain(log_stream(dir_, task, "stderr"));
}

// After the decision about the task's end is on disk: the driver's record of it is needed until then.
void TaskRunner::release() {
  for (const std::string& id : std::exchange(ended_ids_, {})) {
    if (!driver_) continue;
    if (Status status = driver_->destroy_task(id, true); !status.ok() && status.code() != Code::not_found) {
      log::warn("agent", "task not destroyed", {{"task", name_}, {"error", status.message()}});
    }
  }
}

bool TaskRunner::end_task(const Kill& kill) {
  std::string id, signal_name;
  std::chrono::nanoseconds timeout{};
  {
    std::lock_guard lock(mutex_);
    id = stored_.handle().config().id();
    signal_name = task_.kill_signal();
    timeout = std::chrono::nanoseconds(task_.has_kill_timeout() ? task_.kill_timeout() : 5'000'000'000);
  }
  timeout = std::min(timeout, client_.config.max_kill_timeout);
  if (kill.timeout_cap) timeout = std::min(timeout, *kill.timeout_cap);
  if (kill.delay.count() > 0) {
    change([&] { event::append(*stored_.mutable_state(), event::shutdown_delay(client_.wall_ns(), kill.delay)); });
    if (wait_orders(client_.now() + kill.delay, [&] { return orders_.detach; })) return false;
  }
  change([&] {
    append_reason(kill);
    event::append(*stored_.mutable_state(), event::killing(client_.wall_ns(), timeout, ""));
  });
  Status stopped = driver_->stop_task(id, timeout, signal_name);
  std::chrono::seconds pause = kAskAgain;  // for a driver that is being restarted
  for (int tries = 1; tries < kStopTries && stopped.code() == Code::unavailable; ++tries, pause *= 2) {
    if (wait_orders(client_.now() + pause, [&] { return orders_.detach; })) return false;
    stopped = driver_->stop_task(id, timeout, signal_name);
  }
  if (stopped.code() == Code::not_found) stopped = ok_status();
  event::Exit shown{-1, 0, false, "the result is not known"};
  if (stopped.ok()) {
    // All of it is gone: the answer is there.
    if (auto exit = driver_->wait_task(id, {}); exit) {
      shown = {exit->exit_code(), exit->signal(), exit->oom_killed(), ""};
    } else {
      shown.message += ": " + exit.status().message();
    }
  }
  process_ended(id);
  std::lock_guard lock(mutex_);
  event::append(*stored_.mutable_state(), event::terminated(client_.wall_ns(), shown));
  event::append(*stored_.mutable_state(), event::killed(client_.wall_ns(), stopped.message()));
  return true;
}

TaskRunner::Next TaskRunner::after_end(TaskEnd end) {
  std::optional<Kill> kill;
  RestartDecision decision;
  {
    std::lock_guard lock(mutex_);
    const v1::TaskGroup* group = spec_->group();
    const v1::RestartPolicy& policy =
        task_.has_restart_policy() || !group ? task_.restart_policy() : group->restart_policy();
    const RestartRule rule = restart_rule(policy, is_long_running(task_, spec_->job.type()));
    decision = decide_restart(rule, {stored_.restart_count(), stored_.restart_window_began()}, end, client_.wall_ns(),
                              chance());
    kill = orders_.kill;
    orders_.restart.reset();
  }
  if (kill) {
    // It ended by itself while being told to.
    change([&] { append_reason(*kill); });
    die(end.kind == TaskEnd::Kind::start_impossible);
    return Next::settle;
  }
  if (decision.action != RestartDecision::Action::restart) {
    const bool failed = decision.action == RestartDecision::Action::fail;
    if (failed) {
      std::lock_guard lock(mutex_);
      event::append(*stored_.mutable_state(), event::not_restarting(client_.wall_ns(), decision.reason));
    }
    die(failed);
    return Next::settle;
  }
  client_.host.metrics().add("nomad.client.allocs.restart");
  change([&] {
    stored_.set_restart_count(decision.history.count);
    stored_.set_restart_window_began(decision.history.window_began);
    progress_ = Progress::starting;
    v1::TaskState& state = *stored_.mutable_state();
    state.set_state("pending");
    state.set_restarts(state.restarts() + 1);
    state.set_last_restart(client_.wall_ns());
    event::append(state, event::restarting(client_.wall_ns(), decision.delay, decision.reason));
  });
  release();
  wait_orders(client_.now() + decision.delay, [&] { return orders_.detach || orders_.kill; });
  {
    std::lock_guard lock(mutex_);
    if (orders_.detach) return Next::detached;
    if (!orders_.kill) return Next::start;
    kill = orders_.kill;
  }
  return give_up(*kill);
}

void TaskRunner::die(bool failed) {
  const v1::Task task = current_task();
  if (is_plain_name(name_)) {
    client_.logs.close(log_stream(dir_, task, "stdout"));
    client_.logs.close(log_stream(dir_, task, "stderr"));
  }
  change([&] {
    progress_ = Progress::dead;
    stored_.clear_handle();
    v1::TaskState& state = *stored_.mutable_state();
    state.set_state("dead");
    state.set_finished_at(client_.wall_ns());
    if (failed) state.set_failed(true);
  });
  release();
}

TaskRunner::Next TaskRunner::settle() {
  wait_orders({}, [&] { return orders_.detach || orders_.revive; });
  std::string reason;
  {
    std::lock_guard lock(mutex_);
    if (orders_.detach) return Next::detached;
    reason = *std::move(orders_.revive);
    orders_ = {};
  }
  change([&] {
    progress_ = Progress::waiting;
    v1::TaskState& state = *stored_.mutable_state();
    state.set_state("pending");
    state.set_failed(false);
    state.set_finished_at(0);
    state.set_restarts(state.restarts() + 1);
    state.set_last_restart(client_.wall_ns());
    event::append(state, event::restart_signaled(client_.wall_ns(), reason));
  });
  return await_permission();
}

}  // namespace drover::agent
