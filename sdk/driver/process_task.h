// One task of a driver of processes and what is known of it; and all of them by identifier.
//
//   starting ──▶ running ──its first process ended, the rest was killed──▶ exited
//
// Shared between the driver's callers and its reaper. [any]
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/exit_watchers.h"
#include "drover/mutex.h"
#include "isolation/isolation_set.h"

namespace hashicorp::nomad::plugins::drivers::proto {
class TaskStatus;
}

namespace drover {

// Which process a task is. Constant once it runs.
struct TaskProcess {
  int pid = 0;
  uint64_t start_time = 0;  // in ticks since boot
  int64_t started_at = 0;   // nanoseconds since 1970
};

// How a task ended.
struct TaskEnd {
  std::optional<Launcher::Exit> exit;  // absent: it was noticed, but not how it came about
  bool is_oom_killed = false;
  int64_t at = 0;  // nanoseconds since 1970
};

class ProcessTask {
 public:
  explicit ProcessTask(const driver::TaskConfig& config);
  ~ProcessTask();

  const driver::TaskConfig& config() const { return *config_; }
  const std::string& id() const { return id_; }
  // Requested when it has exited or is abandoned: what runs beside it ends, too.
  std::stop_token ended() const { return ended_.get_token(); }

  enum class State : uint8_t { starting, running, exited };
  State state() const;
  driver::TaskStatus status() const;
  // Require: not starting.
  TaskProcess process() const;
  const IsolationSet& isolation() const { return isolation_; }

  // starting → running. An exit that was noticed before is handed back for settling.
  std::optional<Launcher::Exit> set_running(const TaskProcess& process, IsolationSet isolation);
  // False while it is starting: the exit is kept until it runs.
  bool may_settle(const Launcher::Exit& exit);
  // running → exited.
  void set_exited(const TaskEnd& end);
  // Ends all waits; nothing more will be noticed.
  void abandon();

  // Errors: cancelled; unavailable when the driver stops first; unknown when the exit code is not known.
  Result<driver::ExitResult> wait(std::stop_token stop) const;
  // The same without a thread: TaskDriver::watch_task.
  void watch(std::stop_token stop, TaskDriver::TellExit done) { watchers_.add(std::move(stop), std::move(done)); }
  bool wait_until(SteadyTime deadline) const;  // true: it has exited
  // Kills all its processes, which the reaper then notices. Errors: deadline_exceeded when some are left.
  Status kill(std::chrono::nanoseconds limit) const;

  // Processor time between two samples, in percent of one core; zero for the first.
  double cpu_percent(uint64_t cpu_ns, SteadyTime now);

 private:
  const std::unique_ptr<const driver::TaskConfig> config_;
  const std::string id_;
  std::stop_source ended_;
  IsolationSet isolation_;  // constant once it runs

  mutable Mutex mutex_;
  mutable CondVarAny changed_;
  State state_ DROVER_GUARDED_BY(mutex_) = State::starting;
  bool is_abandoned_ DROVER_GUARDED_BY(mutex_) = false;
  TaskProcess process_ DROVER_GUARDED_BY(mutex_);
  std::optional<Launcher::Exit> early_exit_ DROVER_GUARDED_BY(mutex_);
  TaskEnd end_ DROVER_GUARDED_BY(mutex_);
  std::optional<std::pair<uint64_t, SteadyTime>> last_cpu_ DROVER_GUARDED_BY(mutex_);
  ExitWatchers watchers_;  // synchronises itself
};

class TaskStore {
 public:
  // Errors: already_exists.
  Status insert(std::shared_ptr<ProcessTask> task);
  // Null: unknown.
  std::shared_ptr<ProcessTask> find(std::string_view id) const;
  void erase(const ProcessTask& task);
  std::vector<std::shared_ptr<ProcessTask>> all() const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<ProcessTask>, std::less<>> tasks_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover
