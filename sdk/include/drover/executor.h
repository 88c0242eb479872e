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
  // A task may block in the SDK's waits, never on another task. What is queued when the agent stops is dropped.
  virtual void post(std::function<void()> task) = 0;
  // Returns a number for cancel_timer, never 0.
  virtual uint64_t post_at(SteadyTime when, std::function<void()> task) = 0;
  // True when the task had not been started and never will be.
  virtual bool cancel_timer(uint64_t timer) = 0;
  // Runs `body` on a thread of its own. Errors: resource_exhausted at the limit, unavailable once stopping.
  virtual Status run_stream(std::function<void()> body) = 0;
};

}  // namespace drover
