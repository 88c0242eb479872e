// The time and the patience that a call to a storage plugin is given.
#pragma once

#include <chrono>

namespace drover::csi {

// How long a call may take, and how often it is made again. Only what may have happened already or not at all is made
// again: the codes unavailable and resource_exhausted, and a try that ran out of its time. The pause before doubles.
struct CallLimits {
  std::chrono::nanoseconds each_try = std::chrono::minutes(2);
  int tries = 3;
  std::chrono::nanoseconds first_pause = std::chrono::milliseconds(100);
};

}  // namespace drover::csi
