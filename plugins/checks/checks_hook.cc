#include "checks_hook.h"

#include <algorithm>

namespace drover::checks {
namespace {

class AllocPart final : public AllocHook::Part {
 public:
  AllocPart(std::shared_ptr<AllocChecks> checks, HookedAlloc& alloc) : checks_(std::move(checks)) {
    checks_->open(alloc);
  }
  ~AllocPart() override { checks_->close(); }

  Status prerun(std::stop_token) override { return checks_->prerun(), ok_status(); }
  Status update() override { return checks_->update(), ok_status(); }
  Status prekill() override { return checks_->purge(), ok_status(); }
  Status postrun() override { return checks_->purge(), ok_status(); }
  std::optional<PartHealth> health() const override { return checks_->health(); }

 private:
  const std::shared_ptr<AllocChecks> checks_;
};

class TaskPart final : public TaskHook::Part {
 public:
  TaskPart(std::shared_ptr<AllocChecks> checks, HookedTask& task) : checks_(std::move(checks)), name_(task.name()) {
    checks_->open_task(task);
  }
  ~TaskPart() override { checks_->close_task(name_); }

  Status prestart(TaskPrestart&) override { return checks_->resume(name_), ok_status(); }
  Status poststart() override { return checks_->started(name_), ok_status(); }
  Status prekill() override { return checks_->pause(name_), ok_status(); }
  Status exited() override { return checks_->ended(name_), ok_status(); }
  Status stop() override { return checks_->pause(name_), ok_status(); }

 private:
  const std::shared_ptr<AllocChecks> checks_;
  const std::string name_;
};

}  // namespace

std::shared_ptr<AllocChecks> Registry::of(Uuid allocation) {
  const MutexLock lock(mutex_);
  std::weak_ptr<AllocChecks>& known = allocations_[allocation];
  if (auto checks = known.lock()) return checks;
  std::erase_if(allocations_, [&](const auto& row) { return row.first != allocation && row.second.expired(); });
  auto made = std::make_shared<AllocChecks>(*node_, allocation);
  allocations_[allocation] = made;
  return made;
}

std::shared_ptr<AllocChecks> Registry::find(Uuid allocation) const {
  const MutexLock lock(mutex_);
  const auto at = allocations_.find(allocation);
  return at == allocations_.end() ? nullptr : at->second.lock();
}

std::vector<std::shared_ptr<AllocChecks>> Registry::all() const {
  std::vector<std::shared_ptr<AllocChecks>> out;
  const MutexLock lock(mutex_);
  for (const auto& [id, known] : allocations_) {
    if (auto checks = known.lock()) out.push_back(std::move(checks));
  }
  return out;
}

// Addresses are known when the networks are.
HookInfo AllocChecksHook::info() const { return {.name = "checks", .after = {"network", "networks"}}; }
HookInfo TaskChecksHook::info() const { return {.name = "checks"}; }

std::unique_ptr<AllocHook::Part> AllocChecksHook::attach(HookedAlloc& alloc, HookState&) {
  return std::make_unique<AllocPart>(registry_.of(alloc.id()), alloc);
}

std::unique_ptr<TaskHook::Part> TaskChecksHook::attach(HookedTask& task, HookState&) {
  return std::make_unique<TaskPart>(registry_.of(task.allocation()), task);
}

}  // namespace drover::checks
