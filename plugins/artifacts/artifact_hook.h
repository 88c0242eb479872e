// The hook "artifacts": fetches what a task's artifacts name before it starts, each once.
#pragma once

#include <string>

#include "config.h"
#include "drover/plugin.h"
#include "drover/task_hook.h"

namespace drover::artifacts {

class ArtifactHook final : public TaskHook {
 public:
  // Before anything is attached; the host outlives the hook.
  void start(Host& host, Config config, std::string fetcher) {
    host_ = &host;
    config_ = std::move(config);
    fetcher_ = std::move(fetcher);
  }

  HookInfo info() const override {
    return {.name = "artifacts", .after = {"devices", "dispatch_payload"}, .supports = {"artifact"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override;

 private:
  Host* host_ = nullptr;
  Config config_;
  std::string fetcher_;
};

}  // namespace drover::artifacts
