// One task of this driver and what is known of it; and all of them by identifier.
//
//   starting ──▶ running ──its first process ended, the rest was killed──▶ exited
//
// Shared between the driver's callers and its supervisor. [any]
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/cgroup.h"
#include "drover/launcher.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::raw_exec {

namespace proto = hashicorp::nomad::plugins::drivers::proto;

// Which process a task is. Constant once it runs.
struct Process {
  int pid = 0;
  uint64_t start_time = 0;
  int64_t started_at = 0;
};

class Task {
 public:
  Task(proto::TaskConfig config, std::optional<Cgroup> cgroup)
      : config_(std::move(config)), id_(config_.id()), cgroup_(std::move(cgroup)) {}

  const proto::TaskConfig& config() const { return config_; }
  const std::string& id() const { return id_; }
  // Requested when it has exited or is abandoned: what runs beside it ends, too.
  std::stop_token ended() const { return ended_.get_token(); }
  const std::optional<Cgroup>& cgroup() const { return cgroup_; }

  enum class State : uint8_t { starting, running, exited };
  State state() const;
  Process process() const;
  proto::TaskStatus status() const;

  // starting → running. An exit that was noticed before is handed back for settling.
  std::optional<Launcher::Exit> set_running(const Process& process);
  // False while it is starting: the exit is kept until it runs.
  bool may_settle(const Launcher::Exit& exit);
  // running → exited. `failure`: the exit was noticed, but not how it came about.
  void set_exited(const proto::ExitResult& result, Status failure, int64_t at);
  // Ends all waits; nothing more will be noticed.
  void abandon();

  // Errors: cancelled; unavailable when the driver stops first; unknown when the exit code is not known.
  Result<proto::ExitResult> wait(std::stop_token stop) const;
  bool wait_until(SteadyTime deadline) const;  // true: it has exited

  // Processor time between two samples, in percent of one core; zero for the first.
  double cpu_percent(uint64_t cpu_ns, SteadyTime now);

 private:
  const proto::TaskConfig config_;
  const std::string id_;
  const std::optional<Cgroup> cgroup_;
  std::stop_source ended_;

  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  State state_ = State::starting;  // guarded by mutex_, as what follows
  bool is_abandoned_ = false;
  Process process_;
  std::optional<Launcher::Exit> early_exit_;
  proto::ExitResult result_;
  Status failure_;
  int64_t completed_at_ = 0;
  std::optional<std::pair<uint64_t, SteadyTime>> last_cpu_;
};

class TaskStore {
 public:
  // Errors: already_exists.
  Status insert(std::shared_ptr<Task> task);
  // Null: unknown.
  std::shared_ptr<Task> find(std::string_view id) const;
  void erase(const Task& task);
  std::vector<std::shared_ptr<Task>> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Task>, std::less<>> tasks_;  // guarded by mutex_
};

}  // namespace drover::raw_exec
