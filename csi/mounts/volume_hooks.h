// The hooks that bring volumes of storage plugins to allocations and their tasks:
//
//   "csi"          of allocations   prerun: all of the group's are mounted      postrun: they are not any more
//   "csi_volumes"  of tasks         prestart: the task's volume_mounts are added to what its driver mounts
//
// A driver that takes no mounts cannot have such a volume: the task fails, as with volumes of the host.
#pragma once

#include <memory>

#include "drover/alloc_hook.h"
#include "drover/plugin.h"
#include "drover/task_hook.h"
#include "keeper/keeper.h"

namespace drover::mounts {

class VolumesHook final : public AllocHook {
 public:
  // Before anything is attached. Both outlive the hook.
  void start(Clock& clock, Keeper& keeper) {
    clock_ = &clock;
    keeper_ = &keeper;
  }
  HookInfo info() const override {
    return {.name = "csi",
            .after = {"alloc_dir", "await_previous_allocations", "migrate_disk", "network", "networks"},
            .before = {"services", "checks"},
            .supports = {"volume.csi"}};
  }
  std::unique_ptr<Part> attach(HookedAlloc& alloc, HookState& state) override;

 private:
  Clock* clock_ = nullptr;
  Keeper* keeper_ = nullptr;
};

class VolumeMountsHook final : public TaskHook {
 public:
  void start(const Keeper& keeper) { keeper_ = &keeper; }
  HookInfo info() const override {
    return {.name = "csi_volumes",
            .after = {"environment", "volumes", "dispatch_payload"},
            .before = {"devices", "artifacts"},
            .supports = {"volume_mount"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override;

 private:
  const Keeper* keeper_ = nullptr;
};

}  // namespace drover::mounts
