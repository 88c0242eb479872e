// A hash that is the same on every machine (FNV-1a): seeds for choices that must be repeatable. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace drover::scheduler {

inline uint64_t stable_hash(std::string_view bytes, uint64_t seed = 14695981039346656037ULL) {
  for (const char byte : bytes) seed = (seed ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  // The low bits of FNV depend little on the first bytes; mix once more.
  seed ^= seed >> 33U;
  seed *= 0xff51afd7ed558ccdULL;
  return seed ^ (seed >> 33U);
}

}  // namespace drover::scheduler
