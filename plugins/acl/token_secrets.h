// The secrets of tokens at rest. A digest finds a token; what a person may be shown again is sealed by a root key, so
// neither the log nor a snapshot tells a secret.
#pragma once

#include <optional>

#include "drover/keyring.h"
#include "tables.h"

namespace drover::v1 {
class AclTokensResealed;
}

namespace drover::acl {

// [any]
class TokenSecrets {
 public:
  // Before anything else; null: there is no keyring, and nothing is sealed or opened.
  void start(Keyring* keys) { keys_ = keys; }

  // Puts the secret away: the token has its digest and its sealed form then. Errors: as Keyring::seal.
  Status seal(const ReadView& view, v1::AclToken& token) const;
  // Brings it back, and leaves nothing of how it was kept. A row of a former version has its secret in the clear.
  // Errors: as Keyring::open.
  Status open(v1::AclToken& token) const;

  // Tokens of keys that are to be emptied, sealed by the active one; a few at a time. Nothing: there are none.
  std::optional<v1::AclTokensResealed> next_resealed(const ReadView& view, const Tables& tables) const;

 private:
  Keyring* keys_ = nullptr;
};

// The digest takes the place of a secret that is used once. Pure.
void put_away_one_time_secret(v1::OneTimeToken& token);
// The token keeps its secret as `from` does. Pure.
void keep_secret(const v1::AclToken& from, v1::AclToken& to);

}  // namespace drover::acl
