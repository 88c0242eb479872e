// The one source of chance of a seeded test: the same seed gives the same test.
#pragma once

#include <cstdint>
#include <random>

namespace drover {

class Chance {
 public:
  explicit Chance(uint64_t seed) : engine_(seed) {}
  int below(int limit) { return static_cast<int>(engine_() % static_cast<uint64_t>(limit)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool one_in(int many) { return below(many) == 0; }
  uint64_t word() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace drover
