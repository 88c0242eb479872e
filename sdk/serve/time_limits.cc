#include "time_limits.h"

#include <pthread.h>

#include <vector>

#include "drover/mutex.h"

namespace drover::serve {
namespace {

constexpr auto kLongest = std::chrono::hours(1);  // between two looks

}  // namespace

TimeLimits::Limit::Limit(TimeLimits& limits, std::stop_token call, std::chrono::nanoseconds time)
    : limits_(limits),
      deadline_(std::chrono::steady_clock::now() + time),
      gone_(std::move(call), [stop = stop_]() mutable { stop.request_stop(); }) {
  const MutexLock lock(limits_.mutex_);
  place_ = limits_.open_.emplace(deadline_, stop_);
  if (!limits_.thread_.joinable())
    limits_.thread_ = std::jthread([&limits](const std::stop_token& stop) { limits.run(stop); });
  limits_.has_new_ = true;
  limits_.changed_.notify_all();
}

TimeLimits::Limit::~Limit() {
  const MutexLock lock(limits_.mutex_);
  limits_.open_.erase(place_);
}

void TimeLimits::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "time-limits");
  MutexLock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto now = std::chrono::steady_clock::now();
    std::vector<std::stop_source> over;
    for (auto at = open_.begin(); at != open_.end() && at->first <= now; ++at) {
      if (!at->second.stop_requested()) over.push_back(at->second);
    }
    if (!over.empty()) {
      lock.unlock();  // who is asked to stop may do so at once
      for (std::stop_source& each : over) each.request_stop();
      lock.lock();
      continue;
    }
    // Those that were asked stay first until they have gone.
    const auto next = open_.upper_bound(now);
    const SteadyTime until = next == open_.end() ? now + kLongest : next->first;
    changed_.wait_until(lock, stop, until, [this]() DROVER_REQUIRES(mutex_) { return has_new_; });
    has_new_ = false;
  }
}

}  // namespace drover::serve
