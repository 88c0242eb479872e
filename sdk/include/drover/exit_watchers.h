// Those who wait for a task's end without a thread, for drivers that offer TaskDriver::watch_task. Each is told once: of
// the end, or that its wait was cancelled. [any]
#pragma once

#include <memory>
#include <stop_token>

#include "drover/task_driver.h"

namespace drover {

class ExitWatchers {
 public:
  ExitWatchers();
  ~ExitWatchers();

  // `done` is called before this returns when the end has come already, or `stop` is requested.
  void add(std::stop_token stop, TaskDriver::TellExit done);
  // Tells all, and those who come later. The first call counts. Hold no lock: `done` may call back.
  void tell(const Result<driver::ExitResult>& exit);

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace drover
