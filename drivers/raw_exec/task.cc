#include "task.h"

namespace drover::raw_exec {
namespace {

void set_time(google::protobuf::Timestamp& stamp, int64_t ns) {
  stamp.set_seconds(ns / 1'000'000'000);
  stamp.set_nanos(static_cast<int32_t>(ns % 1'000'000'000));
}

}  // namespace

Task::State Task::state() const {
  std::lock_guard lock(mutex_);
  return state_;
}

Process Task::process() const {
  std::lock_guard lock(mutex_);
  return process_;
}

proto::TaskStatus Task::status() const {
  std::lock_guard lock(mutex_);
  proto::TaskStatus status;
  status.set_id(id_);
  status.set_name(config_.name());
  status.set_state(state_ == State::exited ? proto::EXITED : proto::RUNNING);
  set_time(*status.mutable_started_at(), process_.started_at);
  set_time(*status.mutable_completed_at(), completed_at_);
  if (state_ == State::exited) *status.mutable_result() = result_;
  return status;
}

std::optional<Launcher::Exit> Task::set_running(const Process& process) {
  std::lock_guard lock(mutex_);
  state_ = State::running;
  process_ = process;
  return std::exchange(early_exit_, std::nullopt);
}

bool Task::may_settle(const Launcher::Exit& exit) {
  std::lock_guard lock(mutex_);
  if (state_ == State::starting) early_exit_ = exit;
  return state_ == State::running;
}

void Task::set_exited(const proto::ExitResult& result, Status failure, int64_t at) {
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::exited) return;
    state_ = State::exited;
    result_ = result;
    failure_ = std::move(failure);
    completed_at_ = at;
    changed_.notify_all();
  }
  ended_.request_stop();
}

void Task::abandon() {
  {
    std::lock_guard lock(mutex_);
    is_abandoned_ = true;
    changed_.notify_all();
  }
  ended_.request_stop();
}

Result<proto::ExitResult> Task::wait(std::stop_token stop) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [&] { return state_ == State::exited || is_abandoned_; });
  if (state_ == State::exited) {
    if (!failure_.ok()) return failure_;
    return result_;
  }
  if (is_abandoned_) return unavailable("the driver is stopping");
  return cancelled("the wait for task " + id_ + " was cancelled");
}

bool Task::wait_until(SteadyTime deadline) const {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return state_ == State::exited || is_abandoned_; });
  return state_ == State::exited;
}

double Task::cpu_percent(uint64_t cpu_ns, SteadyTime now) {
  std::lock_guard lock(mutex_);
  const auto last = std::exchange(last_cpu_, std::pair(cpu_ns, now));
  if (!last || cpu_ns < last->first || now <= last->second) return 0;
  const std::chrono::duration<double, std::nano> passed = now - last->second;
  return 100.0 * static_cast<double>(cpu_ns - last->first) / passed.count();
}

Status TaskStore::insert(std::shared_ptr<Task> task) {
  std::lock_guard lock(mutex_);
  const std::string id = task->id();
  if (!tasks_.try_emplace(id, std::move(task)).second) return already_exists("task " + id + " was started before");
  return ok_status();
}

std::shared_ptr<Task> TaskStore::find(std::string_view id) const {
  std::lock_guard lock(mutex_);
  auto at = tasks_.find(id);
  return at == tasks_.end() ? nullptr : at->second;
}

void TaskStore::erase(const Task& task) {
  std::lock_guard lock(mutex_);
  if (auto at = tasks_.find(task.id()); at != tasks_.end() && at->second.get() == &task) tasks_.erase(at);
}

std::vector<std::shared_ptr<Task>> TaskStore::all() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Task>> all;
  for (const auto& [id, task] : tasks_) all.push_back(task);
  return all;
}

}  // namespace drover::raw_exec
