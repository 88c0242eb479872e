// The tokens of tasks for Consul: made by a login with the task's signed identity, ended with the task.
//
//   start ──none kept──▶ identity signed ──▶ login ──▶ kept ──▶ file and variables ──stop──▶ logout, until it is heard
//             └ kept, and Consul knows it ─────────────▶┘
//
// A token is kept in the hook's state before the task sees it, so that an agent that is killed makes no second one; a
// token that is to end is kept in the agent's store until Consul has ended it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/consul_client.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/task_hook.h"
#include "drover/task_tokens.h"

namespace drover::consul {

// The tokens of this node's tasks that have one. [any]
class KnownTokens {
 public:
  void put(const HookedTask& task, std::string token);
  void remove(const HookedTask& task);
  std::string of(const HookedTask& task) const;  // secret; empty: none

 private:
  mutable Mutex mutex_;
  std::map<std::pair<Uuid, std::string>, std::string> tokens_ DROVER_GUARDED_BY(mutex_);
};

// Ends tokens, and tries again until Consul has heard it, over the agent's restarts. [any]
class Logouts {
 public:
  static constexpr std::chrono::seconds kAgain{30};

  // Once. All outlive it.
  void start(Host& host, std::shared_ptr<const ConsulClient> client);
  // Durable when it returns. Does not wait for Consul.
  Status add(const std::string& token);
  void stop() { stop_.request_stop(); }

 private:
  void attempt(const std::string& key, const std::string& token);

  Host* host_ = nullptr;
  std::shared_ptr<const ConsulClient> client_;
  std::stop_source stop_;
};

struct TokenSetup {
  Host* host = nullptr;
  std::shared_ptr<const ConsulClient> client;  // null: Consul is not configured
  std::string auth_method;
  KnownTokens* known = nullptr;
  Logouts* logouts = nullptr;
  std::function<const TaskTokens*()> identities;  // null: nobody signs identities
};

class ConsulTokenHook final : public TaskHook {
 public:
  explicit ConsulTokenHook(const TokenSetup& setup) : setup_(setup) {}
  HookInfo info() const override {
    return {.name = "consul",
            .after = {"task_dir", "secrets", "environment", "identity"},
            .before = {"artifacts", "template"}};
  }
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override;

 private:
  const TokenSetup& setup_;
};

}  // namespace drover::consul
