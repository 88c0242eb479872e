// Revokes the tokens of tasks that are over. What is to be revoked is kept on the agent's disk, and tried again until
// Vault has done it, knows the token no more, or its lease has ended. No thread of its own. [any]
#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "client/vault_client.h"
#include "drover/plugin.h"

namespace drover::vault {

class KeptToken;

class Revoker {
 public:
  // Goes on with what an agent before this one left. Both outlive the revoker.
  Status start(Host& host, const VaultClient& client);
  void stop() { stop_.request_stop(); }

  // Does not wait for Vault. Errors: those of the disk; nothing is revoked then.
  Status revoke(const KeptToken& token);

 private:
  void try_later(std::string key, std::string row, std::chrono::nanoseconds after, std::chrono::nanoseconds next);
  void try_now(const std::string& key, const std::string& row, std::chrono::nanoseconds next);
  void forget(const std::string& key);

  Host* host_ = nullptr;
  const VaultClient* client_ = nullptr;
  std::stop_source stop_;
};

}  // namespace drover::vault
