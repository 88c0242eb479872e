// The tables of this plugin and what its log commands do to them. Deterministic. [apply]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/keyring.h"
#include "drover/plugin.h"

namespace drover::v1 {
class RemovedRootKey;
class RootKey;
}  // namespace drover::v1

namespace drover::keyring {

struct Tables {
  Table<v1::RootKey> keys;            // primary: key; also read by those who check that a key is still there
  Table<v1::RemovedRootKey> removed;  // primary: key
  std::vector<const KeyUser*> users;  // from start on
};

// Requires: `tables` outlives the declarations.
Status declare_tables(Declarations& declare, Tables& tables);

std::optional<v1::RootKey> active_key(const ReadView& view, const Tables& tables);
// How much is sealed by the key, up to `most`.
uint64_t uses_of(const ReadView& view, const Tables& tables, const std::string& key_id, uint64_t most);
// Errors: invalid_argument, with the reason. Requires: the key is there.
Status may_remove(const ReadView& view, const Tables& tables, const v1::RootKey& key, bool force);

}  // namespace drover::keyring
