// The least that a call can cost: the same message there and back, without a protocol. [main]
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace drover::bench {

// One round trip at a time.
class RoundTrip {
 public:
  virtual ~RoundTrip() = default;
  virtual void run(size_t bytes) = 0;
};

// From one thread to another and back, under a mutex and two condition variables.
std::unique_ptr<RoundTrip> two_threads();
// Through a Unix socket to another process and back.
std::unique_ptr<RoundTrip> two_processes();

// Median time of starting a program that does nothing, and waiting for its end, in seconds.
double start_of_nothing();

}  // namespace drover::bench
