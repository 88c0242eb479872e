// The tables of this plugin and what its log commands do to them. Deterministic. [apply]
#pragma once

#include <optional>

#include "drover/plugin.h"

namespace drover::v1 {
class RemovedRootKey;
class RootKey;
}  // namespace drover::v1

namespace drover::keyring {

struct Tables {
  Table<v1::RootKey> keys;            // primary: key; also read by those who check that a key is still there
  Table<v1::RemovedRootKey> removed;  // primary: key
};

// Requires: `tables` outlives the declarations.
Status declare_tables(Declarations& declare, Tables& tables);

std::optional<v1::RootKey> active_key(const ReadView& view, const Tables& tables);
// Errors: invalid_argument, for the active key.
Status may_remove(const v1::RootKey& key);

}  // namespace drover::keyring
