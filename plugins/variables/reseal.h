// Variables under a key that is being emptied, sealed anew by the active one.
#pragma once

#include <optional>

#include "drover/keyring.h"
#include "tables.h"

namespace drover::variables {

// The next step, of at most so many rows; nothing when there is nothing to do. `failed` counts the rows that cannot be
// opened and stay.
std::optional<v1::VariablesResealed> next_resealed(const ReadView& view, const Tables& tables, Keyring& keys, size_t most,
                                                   size_t& failed);

}  // namespace drover::variables
