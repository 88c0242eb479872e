// The hook "csi_plugin" of tasks: a task that is a storage plugin gets its folders and the place of its socket, is
// supervised while it runs, and is registered as long as it is one.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "drover/plugin.h"
#include "drover/task_hook.h"
#include "paths.h"
#include "supervisor/supervision.h"

namespace drover::mounts {

class PluginHook final : public TaskHook {
 public:
  struct Setup {
    Host* host = nullptr;
    Instances* instances = nullptr;
    const Folders* folders = nullptr;
    SupervisionTiming timing{};
    // A way to the plugin behind a socket.
    std::function<std::shared_ptr<csi::Client>(const std::string& socket)> connect{};
  };
  // Before anything is attached.
  void start(Setup setup) { setup_ = std::move(setup); }

  HookInfo info() const override {
    return {.name = "csi_plugin",
            .after = {"environment", "task_dir", "volumes", "dispatch_payload"},
            .before = {"artifacts"},
            .supports = {"csi_plugin"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override;

 private:
  Setup setup_;
};

}  // namespace drover::mounts
