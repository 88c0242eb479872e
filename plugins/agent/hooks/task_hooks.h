// The parts that all hooks have in one task, called one after the other. Every call may wait.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "hook_table.h"

namespace drover::agent {

class TaskHooks {
 public:
  // Requires: all outlive it.
  TaskHooks(const HookTable& table, HookedTask& task, HookRows& rows);

  struct Start {
    const driver::DriverCapabilities& capabilities;
    const Variables& node;
    bool recovered = false;
    std::stop_token stop{};
    // A hook has failed. If the task was recovered, the others go on.
    std::function<void(const std::string& hook, const Status& why)> failed;
  };
  // Returns their additions to what the driver is given. Errors: of the first that failed.
  Result<driver::TaskConfig> prestart(const Start& start);
  void poststart();
  void update();
  void prekill();
  void exited();
  void stop();
  void shutdown();

 private:
  struct Entry {
    std::string name;
    std::unique_ptr<RowState> state;
    std::unique_ptr<TaskHook::Part> part;
  };
  // `user`: what the hooks before have made the task's; empty: the job's.
  Result<driver::TaskConfig> prestart_of(const Entry& entry, const Start& start, const Variables& environment,
                                         const std::string& user);
  void note(const Status& status, const Entry& entry, const char* phase) const;

  std::vector<Entry> entries_;
  const HookedTask& task_;
  HookRows& rows_;
};

}  // namespace drover::agent
