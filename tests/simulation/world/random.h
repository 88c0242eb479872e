// Everything random in a simulated run comes from one seed through named streams, so that drawing more or less of one
// thing (a fault kind switched off while a failing run is shrunk) does not reshuffle the others.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

namespace drover::simulation {

// Scatters the bits of a number; also used to chain hashes.
constexpr uint64_t scatter(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  uint64_t hash = seed;
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    for (size_t j = i; j < text.size() && j < i + 8; ++j)
      word |= static_cast<uint64_t>(static_cast<unsigned char>(text[j])) << (8 * (j - i));
    hash = scatter(hash ^ word);
  }
  return scatter(hash ^ text.size());
}

class Random {
 public:
  Random(uint64_t seed, std::string_view stream) : state_(scatter(seed) ^ hash_text(stream)) {}

  uint64_t next() { return scatter(state_++); }
  // Below n; 0 when n is 0.
  uint64_t below(uint64_t n) { return n == 0 ? 0 : next() % n; }
  // Both ends included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low) + 1));
  }
  // True so many times in a million.
  bool chance(int64_t ppm) { return ppm > 0 && static_cast<int64_t>(below(1'000'000)) < ppm; }
  // At least 1; the mean of many.
  int64_t exponential(int64_t mean) {
    const double uniform = (static_cast<double>(next() >> 11) + 0.5) / 9007199254740992.0;
    return 1 + static_cast<int64_t>(-std::log(uniform) * static_cast<double>(mean));
  }

 private:
  uint64_t state_;
};

}  // namespace drover::simulation
