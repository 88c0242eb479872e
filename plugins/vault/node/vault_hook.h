// The hook "vault": logs a task in to Vault with its signed identity before it starts, gives it the token as a file and
// a variable, renews it, has another take its place when renewal has come to an end, and revokes it when the task is
// over. No thread of its own.
#pragma once

#include "client/vault_client.h"
#include "drover/plugin.h"
#include "drover/task_hook.h"
#include "node/revoker.h"
#include "node/task_vault.h"

namespace drover::vault {

class VaultHook final : public TaskHook {
 public:
  // The hook works with these; all outlive it.
  struct Means {
    Host& host;
    const Config& config;
    const VaultClient& client;
    TaskVaults& vaults;
    Revoker& revoker;
  };
  // Before anything is attached.
  void start(const Means& means) { means_.emplace(means); }

  HookInfo info() const override {
    return {.name = "vault",
            .after = {"task_dir", "secrets", "environment", "identity"},
            .before = {"artifacts", "template"},
            .supports = {"vault"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override;

 private:
  std::optional<Means> means_;
};

}  // namespace drover::vault
