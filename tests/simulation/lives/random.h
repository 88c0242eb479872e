// The one source of chance of a life: the same seed gives the same life.
#pragma once

#include <cstdint>
#include <random>

namespace drover::lives {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int below(int limit) { return static_cast<int>(engine_() % static_cast<uint64_t>(limit)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int many) { return below(many) == 0; }
  uint64_t word() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// From now on identifiers, and whatever else the product leaves to chance, follow from the seed. This program has no
// other source: it stands in place of the system's.
void seed_identifiers(uint64_t seed);

}  // namespace drover::lives
