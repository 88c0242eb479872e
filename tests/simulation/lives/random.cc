#include "random.h"

#include <sys/random.h>
#include <sys/types.h>

#include <algorithm>
#include <cstring>

namespace drover::lives {
namespace {

Random& identifiers() {
  static Random random(0);
  return random;
}

}  // namespace

void seed_identifiers(uint64_t seed) { identifiers() = Random(seed); }

}  // namespace drover::lives

// In place of the C library's: whoever asks for a new identifier comes here, from other libraries too.
extern "C" __attribute__((visibility("default"))) ssize_t getrandom(void* buffer, size_t length, unsigned) noexcept {
  auto* at = static_cast<char*>(buffer);
  for (size_t left = length; left > 0;) {
    const uint64_t word = drover::lives::identifiers().word();
    const size_t some = std::min(left, sizeof word);
    std::memcpy(at, &word, some);
    at += some;
    left -= some;
  }
  return static_cast<ssize_t>(length);
}

// Likewise in place of the C++ library's.
__attribute__((visibility("default"))) std::random_device::result_type std::random_device::_M_getval() {
  return static_cast<result_type>(drover::lives::identifiers().word());
}
