// One mock task: a thread that writes its output, waits for its time to pass or for a stop, and leaves a result.
//
//   running ──run_for has passed──▶ exited
//      └──stop: kill_after, or the kill at the deadline──▶ exited
//
// Owned by the driver's store and by calls in progress. [any]
#pragma once

#include <optional>
#include <thread>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "mock_options.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::mock {

class MockTask {
 public:
  // The thread starts at once. `runs_for` is what is left of the task's time after a recovery.
  MockTask(const hashicorp::nomad::plugins::drivers::proto::TaskConfig& config, MockOptions options,
           std::chrono::nanoseconds runs_for, int64_t started_at, bool writes_output);
  ~MockTask();

  // Empty: `stop` was requested first.
  std::optional<hashicorp::nomad::plugins::drivers::proto::ExitResult> wait(std::stop_token stop);
  // Blocks until the task has ended; it is killed when `timeout` has passed.
  void end(std::chrono::nanoseconds timeout, int signal);
  void kill() { end({}, 9); }

  bool is_running() const;
  hashicorp::nomad::plugins::drivers::proto::TaskStatus status() const;
  const MockOptions& options() const { return options_; }
  int64_t started_at() const { return started_at_; }

 private:
  void run(std::stop_token stop);
  void write_output(int fd, const Output& output, int64_t& written, SteadyTime& next, std::stop_token stop);
  void finish(int exit_code, int signal) DROVER_REQUIRES(mutex_);

  // constant after construction
  const std::string id_, name_;
  const std::string stdout_path_, stderr_path_;
  const MockOptions options_;
  const int64_t started_at_;
  const SteadyTime ends_at_;
  const bool writes_output_;

  mutable Mutex mutex_;
  CondVarAny changed_;
  std::optional<SteadyTime> stops_at_ DROVER_GUARDED_BY(mutex_);
  int stop_signal_ DROVER_GUARDED_BY(mutex_) = 0;
  std::optional<hashicorp::nomad::plugins::drivers::proto::ExitResult> result_ DROVER_GUARDED_BY(mutex_);
  int64_t completed_at_ DROVER_GUARDED_BY(mutex_) = 0;

  std::jthread thread_;  // last: joined before anything it uses goes
};

}  // namespace drover::mock
