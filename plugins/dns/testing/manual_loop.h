// A loop whose time stands still until a test moves it.
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "registry/loop.h"

namespace drover::dns {

class ManualLoop final : public Loop {
 public:
  void post(std::function<void()> task) override { tasks_.push_back(std::move(task)); }
  void after(std::chrono::nanoseconds delay, std::function<void()> task) override {
    timers_.emplace(now_ + delay, std::move(task));
  }
  SteadyTime now() override { return now_; }

  // Runs what was posted.
  void run() {
    while (!tasks_.empty()) {
      const auto task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }
  // Lets time go on, and runs what comes due on the way.
  void pass(std::chrono::nanoseconds time) {
    const SteadyTime end = now_ + time;
    run();
    while (!timers_.empty() && timers_.begin()->first <= end) {
      const auto next = timers_.extract(timers_.begin());
      now_ = next.key();
      next.mapped()();
      run();
    }
    now_ = end;
  }

 private:
  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  std::deque<std::function<void()>> tasks_;
  std::multimap<SteadyTime, std::function<void()>> timers_;
};

}  // namespace drover::dns
