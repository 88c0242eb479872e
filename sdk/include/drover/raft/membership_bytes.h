// A membership as the payload of its log entry, and in the headers of segments and snapshots
// (docs/formats/raft-log.md). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "drover/raft/types.h"
#include "drover/result.h"

namespace drover::raft {

std::string encode_membership(const Membership& membership);
Result<Membership> decode_membership(std::string_view bytes);

// Little-endian scalars at a place.
template <typename T>
void put(char* at, T value) {
  static_assert(std::is_integral_v<T>);
  for (size_t i = 0; i < sizeof(T); ++i) at[i] = static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xff);
}
template <typename T>
T get(const char* at) {
  static_assert(std::is_integral_v<T>);
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(at[i])) << (8 * i);
  return static_cast<T>(value);
}

}  // namespace drover::raft
