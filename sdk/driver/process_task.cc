#include "process_task.h"

#include "drover/mutex.h"
#include "drover/process.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

constexpr int kExitSignalBase = 128;  // as shells report a death by signal

void set_time(google::protobuf::Timestamp& stamp, int64_t ns) {
  stamp.set_seconds(ns / 1'000'000'000);
  stamp.set_nanos(static_cast<int32_t>(ns % 1'000'000'000));
}

driver::ExitResult result_of(const TaskEnd& end) {
  driver::ExitResult result;
  result.set_exit_code(-1);
  if (!end.exit) return result;
  result.set_signal(end.exit->signal);
  result.set_exit_code(end.exit->signal ? kExitSignalBase + end.exit->signal : end.exit->exit_code);
  result.set_oom_killed(end.is_oom_killed);
  return result;
}

}  // namespace

ProcessTask::ProcessTask(const driver::TaskConfig& config)
    : config_(std::make_unique<const driver::TaskConfig>(config)), id_(config.id()) {}

ProcessTask::~ProcessTask() = default;

ProcessTask::State ProcessTask::state() const {
  MutexLock lock(mutex_);
  return state_;
}

TaskProcess ProcessTask::process() const {
  MutexLock lock(mutex_);
  return process_;
}

driver::TaskStatus ProcessTask::status() const {
  MutexLock lock(mutex_);
  driver::TaskStatus status;
  status.set_id(id_);
  status.set_name(config_->name());
  status.set_state(state_ == State::exited ? driver::EXITED : driver::RUNNING);
  set_time(*status.mutable_started_at(), process_.started_at);
  set_time(*status.mutable_completed_at(), end_.at);
  if (state_ == State::exited) *status.mutable_result() = result_of(end_);
  return status;
}

std::optional<Launcher::Exit> ProcessTask::set_running(const TaskProcess& process, IsolationSet isolation) {
  MutexLock lock(mutex_);
  state_ = State::running;
  process_ = process;
  isolation_ = std::move(isolation);
  return std::exchange(early_exit_, std::nullopt);
}

bool ProcessTask::may_settle(const Launcher::Exit& exit) {
  MutexLock lock(mutex_);
  if (state_ == State::starting) early_exit_ = exit;
  return state_ == State::running;
}

void ProcessTask::set_exited(const TaskEnd& end) {
  {
    MutexLock lock(mutex_);
    if (state_ == State::exited) return;
    state_ = State::exited;
    end_ = end;
    changed_.notify_all();
  }
  ended_.request_stop();
  watchers_.tell(wait({}));
}

void ProcessTask::abandon() {
  {
    MutexLock lock(mutex_);
    is_abandoned_ = true;
    changed_.notify_all();
  }
  ended_.request_stop();
  watchers_.tell(wait({}));
}

Result<driver::ExitResult> ProcessTask::wait(std::stop_token stop) const {
  MutexLock lock(mutex_);
  changed_.wait(lock, stop, [&]() DROVER_REQUIRES(mutex_) { return state_ == State::exited || is_abandoned_; });
  if (state_ == State::exited) {
    if (end_.exit) return result_of(end_);
    return Status(Code::unknown, "the task ended while its launcher was gone; its exit code is not known");
  }
  if (is_abandoned_) return unavailable("the driver is stopping");
  return cancelled("the wait for task " + id_ + " was cancelled");
}

bool ProcessTask::wait_until(SteadyTime deadline) const {
  MutexLock lock(mutex_);
  changed_.wait_until(lock, deadline,
                      [&]() DROVER_REQUIRES(mutex_) { return state_ == State::exited || is_abandoned_; });
  return state_ == State::exited;
}

Status ProcessTask::kill(std::chrono::nanoseconds limit) const {
  if (const Cgroup* group = isolation_.cgroup()) return group->kill(SystemClock().steady() + limit);
  const TaskProcess first = process();
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(limit);
  if (kill_tree(first.pid, first.start_time, static_cast<int>(time.count()))) return ok_status();
  return deadline_exceeded("processes of task " + id_ + " could not be killed in time");
}

double ProcessTask::cpu_percent(uint64_t cpu_ns, SteadyTime now) {
  MutexLock lock(mutex_);
  const auto last = std::exchange(last_cpu_, std::pair(cpu_ns, now));
  if (!last || cpu_ns < last->first || now <= last->second) return 0;
  const std::chrono::duration<double, std::nano> passed = now - last->second;
  return 100.0 * static_cast<double>(cpu_ns - last->first) / passed.count();
}

Status TaskStore::insert(std::shared_ptr<ProcessTask> task) {
  MutexLock lock(mutex_);
  const std::string id = task->id();
  if (!tasks_.try_emplace(id, std::move(task)).second) return already_exists("task " + id + " was started before");
  return ok_status();
}

std::shared_ptr<ProcessTask> TaskStore::find(std::string_view id) const {
  MutexLock lock(mutex_);
  auto at = tasks_.find(id);
  return at == tasks_.end() ? nullptr : at->second;
}

void TaskStore::erase(const ProcessTask& task) {
  MutexLock lock(mutex_);
  if (auto at = tasks_.find(task.id()); at != tasks_.end() && at->second.get() == &task) tasks_.erase(at);
}

std::vector<std::shared_ptr<ProcessTask>> TaskStore::all() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<ProcessTask>> all;
  for (const auto& [id, task] : tasks_) all.push_back(task);
  return all;
}

}  // namespace drover
