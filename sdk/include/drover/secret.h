// Making and comparing secrets. [any]
#pragma once

#include <sys/random.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

// So many bytes from the kernel's generator, 256 at most: 32 are more than anybody can guess. Never call this in an
// apply function.
inline std::string random_secret(size_t size) {
  std::string bytes(size, '\0');
  DROVER_CHECK(::getrandom(bytes.data(), size, 0) == static_cast<ssize_t>(size));
  return bytes;
}

// Takes the same time wherever the two differ, so that nobody can guess a secret byte by byte.
inline bool is_same_secret(std::string_view one, std::string_view other) {
  unsigned difference = one.size() == other.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return difference == 0;
}

}  // namespace drover
