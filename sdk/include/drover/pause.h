// Waiting on a thread that has nothing else to do, until a time has come or the thread shall stop. [any]
#pragma once

#include <chrono>
#include <stop_token>

#include "drover/clock.h"

namespace drover {

// True when the time came, false when a stop was requested before. A time of the past returns at once.
bool pause_until(SteadyTime time, const std::stop_token& stop);
bool pause_for(std::chrono::nanoseconds time, const std::stop_token& stop);
// Returns when a stop is requested. Requires: one is possible.
void wait_for_stop(const std::stop_token& stop);

}  // namespace drover
