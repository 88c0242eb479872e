#include "drover/pause.h"

#include "drover/mutex.h"

namespace drover {
namespace {

// Nobody notifies the condition: only the time and the stop end a wait for it.
template <typename Wait>
bool pause(const std::stop_token& stop, const Wait& wait) {
  Mutex mutex;
  CondVarAny never;
  MutexLock lock(mutex);
  wait(never, lock, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace

bool pause_until(SteadyTime time, const std::stop_token& stop) {
  return pause(stop, [&](CondVarAny& never, MutexLock& lock, auto no) { never.wait_until(lock, stop, time, no); });
}

bool pause_for(std::chrono::nanoseconds time, const std::stop_token& stop) {
  return pause(stop, [&](CondVarAny& never, MutexLock& lock, auto no) { never.wait_for(lock, stop, time, no); });
}

void wait_for_stop(const std::stop_token& stop) {
  pause(stop, [&](CondVarAny& never, MutexLock& lock, auto no) { never.wait(lock, stop, no); });
}

}  // namespace drover
