// Time limits of calls that are carried out: one thread for all of them, which asks those to stop whose time is over.
#pragma once

#include <functional>
#include <map>
#include <stop_token>
#include <thread>

#include "drover/clock.h"
#include "drover/mutex.h"

namespace drover::serve {

class TimeLimits {
 public:
  TimeLimits() = default;
  ~TimeLimits() = default;  // Requires: no Limit is left
  TimeLimits(const TimeLimits&) = delete;
  TimeLimits& operator=(const TimeLimits&) = delete;

  // The limit of one call. Its token is requested when the call's own is, or when the time is over.
  class Limit {
   public:
    Limit(TimeLimits& limits, std::stop_token call, std::chrono::nanoseconds time);
    ~Limit();
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

    std::stop_token stop() const { return stop_.get_token(); }
    bool is_over() const { return std::chrono::steady_clock::now() >= deadline_; }

   private:
    TimeLimits& limits_;
    const SteadyTime deadline_;
    std::stop_source stop_;
    const std::stop_callback<std::function<void()>> gone_;
    std::multimap<SteadyTime, std::stop_source>::iterator place_;
  };

 private:
  void run(const std::stop_token& stop);

  Mutex mutex_;
  CondVarAny changed_;
  std::multimap<SteadyTime, std::stop_source> open_ DROVER_GUARDED_BY(mutex_);
  bool has_new_ DROVER_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // made with the first limit. Last: it ends first
};

}  // namespace drover::serve
