// Threads of the agent that a plugin may borrow. [any]
#pragma once

#include <cstdint>
#include <functional>

#include "drover/clock.h"
#include "drover/result.h"

namespace drover {

class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `task` on one of a few threads. It must not wait for anything: others queue behind it. Tasks that are queued
  // when the agent stops are dropped.
  virtual void post(std::function<void()> task) = 0;
  // Returns a number for cancel_timer, never 0.
  virtual uint64_t post_at(SteadyTime when, std::function<void()> task) = 0;
  // True when the task had not been started and never will be.
  virtual bool cancel_timer(uint64_t timer) = 0;
  // Runs `body` on a thread of its own, where it may wait as long as it likes. Errors: resource_exhausted at the limit,
  // unavailable once stopping.
  virtual Status run_blocking(std::function<void()> body) = 0;
};

}  // namespace drover
