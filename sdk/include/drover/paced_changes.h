// The change feed for followers whom a few milliseconds do not hurt: each wake-up of a thread costs as much as some
// commits do. What comes after a quiet time is handed over at once. Then the follower rests, and what was committed
// meanwhile comes together. [the follower's thread]
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <variant>

#include "drover/clock.h"
#include "drover/pause.h"
#include "drover/plugin.h"

namespace drover {

class PacedChanges final : public ChangeSubscription {
 public:
  // `may_rest` is asked before each rest; null: it always may.
  explicit PacedChanges(std::unique_ptr<ChangeSubscription> changes,
                        std::chrono::nanoseconds rest = std::chrono::milliseconds(5),
                        std::function<bool()> may_rest = nullptr)
      : changes_(std::move(changes)), rest_(rest), may_rest_(std::move(may_rest)) {}

  Event next(SteadyTime deadline, std::stop_token stop) override {
    Event event = changes_->next(SteadyTime(), stop);
    if (!std::holds_alternative<Timeout>(event)) return event;
    if ((!may_rest_ || may_rest_()) && !pause_until(std::min(rested_, deadline), stop)) return event;
    event = changes_->next(deadline, stop);
    rested_ = std::chrono::steady_clock::now() + rest_;
    return event;
  }

 private:
  const std::unique_ptr<ChangeSubscription> changes_;
  const std::chrono::nanoseconds rest_;
  const std::function<bool()> may_rest_;
  SteadyTime rested_{};
};

}  // namespace drover
