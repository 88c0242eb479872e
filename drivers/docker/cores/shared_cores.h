// Keeps containers that reserve no cores on those that nobody reserves. The client writes these into a control group's
// file (linux_resources.cpuset_cgroup); containers live in groups of the engine's, so the engine is told of each change.
#pragma once

#include <map>
#include <string>
#include <thread>

#include "config/container_options.h"
#include "drover/mutex.h"
#include "drover/task_driver.h"
#include "engine/engine.h"

namespace drover::docker {

// The file with the cores of a task that reserves and names none, on a machine with this version of control groups;
// empty: the client does not part this machine's cores, or the task has its own. Pure.
std::string shared_cores_file(const driver::TaskConfig& task, const ContainerOptions& options, int cgroup_version);
// The list in that file, "0-3"; empty: it cannot be read.
std::string read_shared_cores(const std::string& file);

class SharedCores {
 public:
  explicit SharedCores(Engine& engine) : engine_(engine) {}
  ~SharedCores() { stop(); }

  // Keeps the container, which has `cores`, on what the file says. The first one starts a thread.
  void follow(const std::string& container, const std::string& file, const std::string& cores);
  void forget(const std::string& container);
  void stop();

 private:
  struct Container {
    std::string file, cores;
  };
  Status start() DROVER_REQUIRES(mutex_);
  void run(const std::stop_token& stop);
  void bring_up_to_date();

  Engine& engine_;
  Mutex mutex_;
  std::map<std::string, Container> containers_ DROVER_GUARDED_BY(mutex_);
  bool is_told_ DROVER_GUARDED_BY(mutex_) = false;  // that the engine cannot move containers
  int watch_ = -1;                                  // of the files, constant while the thread runs
  int wake_ = -1;
  std::jthread thread_;
};

}  // namespace drover::docker
