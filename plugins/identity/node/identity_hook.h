// The hook "identity": gets a task's tokens from the servers before it starts, gives them to it as files and variables,
// and renews those that end, at half of their life. No thread of its own.
#pragma once

#include "drover/plugin.h"
#include "drover/task_hook.h"
#include "node/signing.h"

namespace drover::identity {

class IdentityHook final : public TaskHook {
 public:
  // `signing` outlives the hook.
  explicit IdentityHook(const Signing& signing) : signing_(signing) {}
  // Before anything is attached; the host outlives the hook.
  void start(Host& host) { host_ = &host; }

  HookInfo info() const override {
    return {.name = "identity",
            .after = {"task_dir", "secrets", "environment"},
            .before = {"artifacts", "template"},
            .supports = {"identity"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override;

 private:
  const Signing& signing_;
  Host* host_ = nullptr;
};

}  // namespace drover::identity
