// Keeps the pipes of tasks' output open in the agent's launcher, so that a task of a driver that is a program outlives
// the agent: without a reader its next line would kill it. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drover/launcher.h"
#include "drover/mutex.h"

namespace drover::plugin_programs {

class LogPipes {
 public:
  explicit LogPipes(Launcher::Options options) : options_(std::move(options)) {}

  // For the task of this identifier. Leaves out paths that are no FIFO. Errors: those of Launcher.
  Status hold(std::string_view task_id, const std::vector<std::string>& paths);
  // When the task has ended, so that readers see the end.
  void release(std::string_view task_id);

 private:
  Result<std::shared_ptr<Launcher>> launcher();

  const Launcher::Options options_;
  Mutex mutex_;
  std::shared_ptr<Launcher> launcher_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::plugin_programs
