// One question that is kept answered, however many wait for it or look: when to ask it again, and what is known.
//
//   asked ──answer──▶ known, and asked on behind its index …
//     └ failed: again, first after a short pause, then ever later; what was known stays
//
// The asking is left to its users, on whatever thread they have for it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <utility>

#include "drover/mutex.h"

namespace drover {

// When a question is asked again, and behind which index. Pure; one owner.
class NextQuestion {
 public:
  explicit NextQuestion(std::chrono::nanoseconds longest_pause,
                        std::chrono::nanoseconds first_pause = std::chrono::milliseconds(250))
      : first_(first_pause), longest_(longest_pause) {}

  // The next question waits for something newer; 0: it is answered at once.
  uint64_t index() const { return index_; }

  // An answer came, with its index where the question has one. One that goes back is that of a state that begins anew:
  // the next question does not wait. True when it is another index than the question's.
  bool answered(uint64_t index = 0) {
    pause_ = first_;
    const bool is_other = index != index_;
    index_ = index < index_ ? 0 : index;
    return is_other;
  }
  // No answer came: how long to wait before the next question.
  std::chrono::nanoseconds failed() { return std::exchange(pause_, std::min(pause_ * 2, longest_)); }
  // The next question does not wait.
  void begin_anew() { index_ = 0; }

 private:
  std::chrono::nanoseconds first_, longest_;
  std::chrono::nanoseconds pause_ = first_;
  uint64_t index_ = 0;
};

// The newest answer. `Answer` has a `uint64_t change`, which grows with each one that is news; 0: there is none yet.
// [any]
template <typename Answer>
class KeptAnswer {
 public:
  Answer now() const {
    const MutexLock lock(mutex_);
    return known_;
  }
  // Waits for the first one, at most so long, and until `stop`.
  Answer wait(std::chrono::nanoseconds patience, const std::stop_token& stop = {}) const {
    MutexLock lock(mutex_);
    answered_.wait_until(lock, stop, std::chrono::steady_clock::now() + patience,
                         [this]() DROVER_REQUIRES(mutex_) { return known_.change != 0; });
    return known_;
  }
  // Keeps an answer and tells those who wait, if it is the first one, or `is_same(known, answer)` is false.
  template <typename IsSame>
  void take(Answer answer, const IsSame& is_same) {
    const MutexLock lock(mutex_);
    if (known_.change != 0 && is_same(std::as_const(known_), std::as_const(answer))) return;
    answer.change = known_.change + 1;
    known_ = std::move(answer);
    answered_.notify_all();
  }

 private:
  mutable Mutex mutex_;
  mutable CondVarAny answered_;
  Answer known_ DROVER_GUARDED_BY(mutex_){};
};

}  // namespace drover
