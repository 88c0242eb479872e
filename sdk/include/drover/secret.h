// Comparing secrets. [any]
#pragma once

#include <algorithm>
#include <string_view>

namespace drover {

// Takes the same time wherever the two differ, so that nobody can guess a secret byte by byte.
inline bool is_same_secret(std::string_view one, std::string_view other) {
  unsigned difference = one.size() == other.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return difference == 0;
}

}  // namespace drover
