// A task, for those who call it from other threads than its hooks' own: restarts it, runs scripts in it. [any]
//
//   open ──close(): no call begins any more, and those under way are told to end and waited for──▶ closed
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/mutex.h"
#include "drover/task_hook.h"

namespace drover::v1 {
class CheckResult;
}

namespace drover::checks {

class TaskPort {
 public:
  explicit TaskPort(HookedTask& task) : task_(&task) {}
  void close();

  // Errors: failed_precondition when the task does not run, as for the script.
  Status restart(const std::string& reason);
  // Runs a command in the task: status 0 is passing, 1 warning, any other critical, with what it printed. Waits.
  // Errors: cancelled; unimplemented by the task's driver.
  Result<v1::CheckResult> run_script(const std::vector<std::string>& command, std::stop_token stop);

 private:
  template <typename Call>
  auto with_task(Call call) -> decltype(call(std::declval<HookedTask&>()));

  Mutex mutex_;
  CondVar changed_;
  HookedTask* task_ DROVER_GUARDED_BY(mutex_);  // null once closed
  int calls_ DROVER_GUARDED_BY(mutex_) = 0;
  std::stop_source closing_;  // synchronises itself
};

// The result that a script's end stands for. Pure.
v1::CheckResult judge_script(int exit_code, int signal, std::string_view output);

}  // namespace drover::checks
