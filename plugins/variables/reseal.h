// Variables under a key that is being emptied, sealed anew by the active one.
#pragma once

#include <optional>

#include "drover/keyring.h"
#include "tables.h"

namespace drover::v1 {
class VariablesResealed;
}  // namespace drover::v1

namespace drover::variables {

inline constexpr size_t kResealedBytes = 512 << 10;  // of sealed items in one entry of the log

// The next step, of at most so many rows and about kResealedBytes of them; nothing when there is nothing to do.
// `failed` counts the rows that cannot be opened and stay.
std::optional<v1::VariablesResealed> next_resealed(const ReadView& view, const Tables& tables, Keyring& keys,
                                                   size_t most, size_t& failed);

}  // namespace drover::variables
