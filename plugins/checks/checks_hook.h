// The hooks "checks" of allocations and of tasks, and what they share: the checks of every allocation of this node.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "alloc_checks.h"
#include "drover/task_hook.h"

namespace drover::checks {

// [any]
class Registry {
 public:
  // Before the first allocation; outlives the registry.
  void start(const Node& node) { node_ = &node; }
  // Made for the first that asks; lives as long as somebody has it.
  std::shared_ptr<AllocChecks> of(Uuid allocation);
  // Null: this node has no such allocation.
  std::shared_ptr<AllocChecks> find(Uuid allocation) const;
  std::vector<std::shared_ptr<AllocChecks>> all() const;

 private:
  const Node* node_ = nullptr;
  mutable Mutex mutex_;
  std::map<Uuid, std::weak_ptr<AllocChecks>> allocations_ DROVER_GUARDED_BY(mutex_);
};

class AllocChecksHook final : public AllocHook {
 public:
  explicit AllocChecksHook(Registry& registry) : registry_(registry) {}
  HookInfo info() const override;
  std::unique_ptr<Part> attach(HookedAlloc& alloc, HookState& state) override;

 private:
  Registry& registry_;
};

class TaskChecksHook final : public TaskHook {
 public:
  explicit TaskChecksHook(Registry& registry) : registry_(registry) {}
  HookInfo info() const override;
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override;

 private:
  Registry& registry_;
};

}  // namespace drover::checks
