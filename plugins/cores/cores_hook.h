// Gives each task its part of the processors: the cores that the servers reserved for it, or those that all share. The
// driver is told the control group to put the task into, as linux_resources.cpuset_cgroup.
#pragma once

#include <memory>

#include "drover/task_hook.h"
#include "partition.h"

namespace drover::cores {

class CoresHook final : public TaskHook {
 public:
  // Before the first task. Null: this machine's processors are not parted.
  void start(Partition* partition) { partition_ = partition; }
  HookInfo info() const override { return {.name = "cores", .after = {"devices"}}; }
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override;

 private:
  Partition* partition_ = nullptr;
};

}  // namespace drover::cores
