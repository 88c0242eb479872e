// For tests of processes: conditions that come to hold, and whether a process lives.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>

#include "drover/process.h"

namespace drover {

// Looks every few milliseconds. False when it does not hold within the limit.
inline bool eventually(const std::function<bool()>& condition,
                       std::chrono::nanoseconds limit = std::chrono::seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    poll(nullptr, 0, 5);
  }
  return true;
}

inline bool is_alive(int pid) {
  const auto stat = process_stat(pid);
  return stat && stat->state != 'Z';
}

}  // namespace drover
