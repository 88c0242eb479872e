// This node's knowledge of Vault, for the servers to place jobs by: vault.accessible, .version, .cluster_id and
// .cluster_name, from Vault's seal status. They are gone while Vault does not answer. No thread of its own.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "client/vault_client.h"
#include "drover/mutex.h"
#include "drover/node_fingerprint.h"
#include "drover/plugin.h"

namespace drover::vault {

class Fingerprint final : public NodeFingerprint {
 public:
  // Begins to ask. Both outlive the fingerprint.
  void start(Host& host, const VaultClient& client);
  void stop() { stop_.request_stop(); }

  Status describe(v1::Node& node) override { return (void)refresh(node), ok_status(); }
  bool refresh(v1::Node& node) override;
  void watch(std::function<void()> changed) override;

 private:
  void look();

  Host* host_ = nullptr;
  const VaultClient* client_ = nullptr;
  std::stop_source stop_;
  Mutex mutex_;
  std::optional<SealStatus> seen_ DROVER_GUARDED_BY(mutex_);
  std::function<void()> changed_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::vault
