// A membership as the payload of its log entry, and in the headers of segments and snapshots
// (docs/formats/raft-log.md). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "drover/result.h"
#include "storage/types.h"

namespace drover::raft {

// The upper half of a term counts the recoveries from a lost quorum (peers_file.h). A membership that was set under an
// earlier count than a server's term has means nothing to that server: another stands in its place.
inline uint64_t epoch_of(Term term) { return term >> 32; }
inline Term first_term_of(uint64_t epoch) { return epoch << 32; }

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
