// One task: a container that runs, the thread that waits for its end, the reader of its output, and its result.
//
//   running ──exit, its output passed on──▶ exited
//      └─stop(): the signal, the timeout, a kill ──▶ exited
//
// The threads end with the container or with the object; the container itself goes on. [any]
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "drover/exit_watchers.h"
#include "drover/mutex.h"
#include "drover/task_driver.h"
#include "engine/answers.h"
#include "engine/engine.h"
#include "memory/memory_watch.h"
#include "task/container_handle.h"
#include "task/log_reader.h"

namespace hashicorp::nomad::plugins::drivers::proto {
class NetworkOverride;
}

namespace drover::docker {

class ContainerTask {
 public:
  struct Options {
    ContainerHandle handle;
    Container container;  // as it was found after its start
    bool reads_logs = true;
    std::string position_file;  // of the log
  };
  ContainerTask(Engine& engine, const driver::TaskConfig& config, Options options);
  ~ContainerTask();

  // Ends the threads and tells who waits that the driver goes; the container goes on. Idempotent.
  void let_go();

  const driver::TaskConfig& config() const { return *config_; }
  const std::string& id() const { return options_.handle.container; }
  const ContainerHandle& handle() const { return options_.handle; }
  const Container& container() const { return options_.container; }

  bool is_running() const;
  // Requested when it has ended.
  std::stop_token ended() const { return ended_.get_token(); }

  void watch(std::stop_token stop, TaskDriver::TellExit done) { watchers_.add(std::move(stop), std::move(done)); }
  Status signal(const std::string& name);
  // Returns when it has ended. `name`: empty, the image's own or SIGTERM.
  Status stop(std::chrono::nanoseconds timeout, const std::string& name);
  driver::InspectTaskResponse inspect() const;
  Result<driver::TaskStats> stats();

 private:
  void run(const std::stop_token& stop);
  // Until the engine says that it has ended. Nothing: the object goes.
  std::optional<Result<Container>> wait_end(const std::stop_token& stop);
  bool memory_ran_out(const Container& end, const std::stop_token& stop);
  void finish(const Result<Container>& end);
  bool wait_exited(SteadyTime deadline);

  Engine& engine_;
  const std::unique_ptr<const driver::TaskConfig> config_;
  const Options options_;
  std::unique_ptr<LogReader> logs_;  // null: none
  MemoryWatch memory_;  // the thread's
  std::atomic<bool> is_told_to_end_{false};
  ExitWatchers watchers_;
  std::stop_source ended_;

  mutable Mutex mutex_;
  CondVar exited_;
  std::unique_ptr<driver::ExitResult> result_ DROVER_GUARDED_BY(mutex_);  // null: it runs
  int64_t completed_ns_ DROVER_GUARDED_BY(mutex_) = 0;
  std::optional<Sample> sample_ DROVER_GUARDED_BY(mutex_);
  SteadyTime sampled_ DROVER_GUARDED_BY(mutex_){};

  std::jthread thread_;  // last: joined before anything it uses goes
};

// The driver's network of a container, as the agent may tell others of it.
driver::NetworkOverride network_of(const Container& container, const ContainerHandle& handle, bool advertises_ipv6);

}  // namespace drover::docker
