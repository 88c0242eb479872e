// The hooks "services" of allocations and of tasks: say which instances of services there are, as workloads come and
// go.
//
//   group    prerun ──▶ published ──prekill──▶ gone, before the first signal        postrun: gone in any case
//   task     poststart ──▶ published ──prekill, exited──▶ gone ──poststart──▶ …     stop: gone in any case
//
// Their state keeps what was published, so that an agent's next life begins with it and nobody sees it vanish
// meanwhile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "drover/alloc_hook.h"
#include "drover/plugin.h"
#include "drover/task_hook.h"
#include "node/publisher.h"

namespace drover::services {

struct HookSetup {
  Host* host = nullptr;
  Publisher* publisher = nullptr;
  std::function<void()> discover;  // offers the providers that have come meanwhile to the publisher
};

class GroupServicesHook final : public AllocHook {
 public:
  explicit GroupServicesHook(const HookSetup& setup) : setup_(setup) {}
  HookInfo info() const override {
    return {.name = "services", .after = {"alloc_dir", "network", "networks"}, .supports = {"service"}};
  }
  std::unique_ptr<Part> attach(HookedAlloc& alloc, HookState& state) override;

 private:
  const HookSetup& setup_;
};

class TaskServicesHook final : public TaskHook {
 public:
  explicit TaskServicesHook(const HookSetup& setup) : setup_(setup) {}
  HookInfo info() const override {
    return {.name = "services",
            .after = {"environment", "task_dir", "logs", "devices", "dispatch_payload", "artifacts", "template",
                      "secrets", "volumes"},
            .supports = {"service"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override;

 private:
  const HookSetup& setup_;
};

}  // namespace drover::services
