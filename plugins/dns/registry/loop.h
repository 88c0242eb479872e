// The one thread on which everything of this plugin happens, its timers included.
#pragma once

#include <chrono>
#include <functional>

#include "drover/clock.h"

namespace drover::dns {

class Loop {
 public:
  virtual ~Loop() = default;
  virtual void post(std::function<void()> task) = 0;  // [any]
  // [dns]
  virtual void after(std::chrono::nanoseconds delay, std::function<void()> task) = 0;
  virtual SteadyTime now() = 0;
};

}  // namespace drover::dns
