// The hook "template": writes a task's templates before it starts and gives it their variables; restarts it, signals it
// or runs a script in it when they come out otherwise later.
#pragma once

#include <memory>

#include "config.h"
#include "drover/plugin.h"
#include "drover/task_hook.h"
#include "sources/sources.h"
#include "watch/server_watch.h"
#include "watcher.h"

namespace drover::templates {

class TemplateHook final : public TaskHook {
 public:
  explicit TemplateHook(std::chrono::nanoseconds look_every) : watcher_(look_every) {}

  // Before anything is attached; the host outlives the hook. Errors: those of Sources.
  Status start(Host& host, Config config) {
    host_ = &host;
    config_ = std::move(config);
    servers_.start(host);
    return sources_.start(host);
  }
  void stop() {
    watcher_.stop();
    servers_.stop();
  }

  HookInfo info() const override {
    return {.name = "template",
            .after = {"devices", "dispatch_payload", "artifacts", "consul", "vault"},
            .supports = {"template"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override;

 private:
  Sources sources_;
  ServerWatches servers_;
  Watcher watcher_;
  Host* host_ = nullptr;
  Config config_;
};

}  // namespace drover::templates
