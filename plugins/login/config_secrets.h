// The secrets in the Config of auth methods at rest. A row has its Config as answers show it, and the whole sealed by a
// root key: neither the log nor a snapshot tells a secret.
#pragma once

#include <optional>
#include <string>

#include "drover/keyring.h"
#include "tables.h"

namespace drover::v1 {
class AclAuthMethodsResealed;
}

namespace drover::login {

// [any]
class ConfigSecrets {
 public:
  // Before anything else; null: there is no keyring, and nothing is sealed or opened.
  void start(Keyring* keys) { keys_ = keys; }

  // Puts the secrets away, where there are some. Errors: as Keyring::seal.
  Status seal(const ReadView& view, v1::AclAuthMethod& method) const;
  // Brings them back, and leaves nothing of how they were kept. A row of a former version has them in the clear.
  // Errors: as Keyring::open.
  Status open(v1::AclAuthMethod& method) const;

  // Methods of keys that are to be emptied, and those of former versions, sealed by the active key; some at a time.
  // Nothing: there are none. `failed` counts those that cannot be sealed.
  std::optional<v1::AclAuthMethodsResealed> next_resealed(const ReadView& view, const Tables& tables,
                                                          size_t& failed) const;

 private:
  Keyring* keys_ = nullptr;
};

}  // namespace drover::login
