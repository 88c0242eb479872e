// Chance in a life, and in all that a life reaches: the same seed gives the same life.
#pragma once

#include "sdk/testing/chance.h"

namespace drover::lives {

using Random = Chance;

// From now on identifiers, and whatever else the product leaves to chance, follow from the seed. This program has no
// other source: it stands in place of the system's.
void seed_identifiers(uint64_t seed);

}  // namespace drover::lives
