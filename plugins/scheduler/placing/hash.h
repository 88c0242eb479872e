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

// Decides between nodes that are equally good: the least wins. Never 0. `id_hash`: stable_hash of the node's
// identifier.
inline uint64_t tie_order(uint64_t id_hash, uint64_t seed) {
  uint64_t order = (id_hash ^ seed) * 0x9e3779b97f4a7c15ULL;
  order ^= order >> 32U;
  order *= 0xff51afd7ed558ccdULL;
  return (order ^ (order >> 29U)) | 1U;
}

}  // namespace drover::scheduler
