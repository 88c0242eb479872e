// Tasks that use Vault have the identity with which they log in to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/config.h"
#include "drover/implied_identity.h"

namespace drover::vault {

// The block `default_identity`.
struct DefaultIdentity {
  std::vector<std::string> audience{"vault.io"};
  int64_t ttl = int64_t{3600} * 1'000'000'000;  // nanoseconds
  bool env = false, file = false;
};
// Null: the agent's configuration has none.
DefaultIdentity read_default_identity(const ConfigBlock* block);

class VaultIdentity final : public ImpliedIdentity {
 public:
  // Once; without it tasks get none by themselves.
  void start(DefaultIdentity identity) { identity_ = std::move(identity); }
  std::optional<v1::Identity> identity_for(const v1::TaskGroup& group, const v1::Task& task) const override;

 private:
  std::optional<DefaultIdentity> identity_;  // constant after start
};

}  // namespace drover::vault
