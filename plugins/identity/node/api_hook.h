// The hook "api": the API at a socket in a task's secrets, "api.sock", for the task's user alone. Callers show the
// task's identity or a token there.
#pragma once

#include "drover/plugin.h"
#include "drover/task_hook.h"

namespace drover::identity {

class ApiHook final : public TaskHook {
 public:
  // Before anything is attached; the host outlives the hook.
  void start(Host& host) { host_ = &host; }

  HookInfo info() const override {
    return {.name = "api", .after = {"task_dir", "secrets", "environment"}, .before = {"artifacts", "template"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override;

 private:
  Host* host_ = nullptr;
};

}  // namespace drover::identity
