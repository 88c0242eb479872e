// Where time comes from, so that tests and the simulator own it.
#pragma once

#include <chrono>
#include <cstdint>

namespace drover {

using SteadyTime = std::chrono::steady_clock::time_point;

// [any]
class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since 1970 (UTC). May jump. For stamps that people read.
  virtual int64_t wall_ns() const = 0;
  // Never goes back. For deadlines and intervals.
  virtual SteadyTime steady() const = 0;
};

// The machine's clocks.
class SystemClock final : public Clock {
 public:
  int64_t wall_ns() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  SteadyTime steady() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace drover
