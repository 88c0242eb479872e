// Runs checks when they are due: one timetable, one thread, and a few more for providers that wait.
//
//   add ──▶ waiting ──due, and room──▶ running ──answer, or its time is over──▶ answered(…) ──▶ waiting ──▶ …
//              └────────────── remove ──────────────┘
//
// One run of a check at a time. A run that does not end in its time is critical, and what it says later is not heard.
// Owned by the plugin.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stop_token>
#include <thread>

#include "drover/check_provider.h"
#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/thread_pool.h"
#include "engine/timetable.h"

namespace drover::checks {

struct EngineCheck {
  using Result = drover::Result<v1::CheckResult>;
  using Told = CheckProvider::Told;

  std::chrono::nanoseconds interval{}, timeout{};
  // Begins a run that nobody waits for; false: it has to be waited for, by run().
  std::function<bool(std::stop_token stop, Told told)> begin;
  std::function<Result(std::stop_token stop)> run;
  std::function<void(Result result)> answered;  // [checks]; must not wait
};

class CheckEngine {
 public:
  struct Limits {
    size_t running = 512;  // at a time
    size_t waiting = 32;   // of them, those that a thread waits for
  };
  // `tick` comes about once a second, while there are checks. [checks]
  CheckEngine(Clock& clock, std::function<void()> tick, Limits limits);
  ~CheckEngine();  // stops

  // Returns a number for remove(). [any]
  uint64_t add(EngineCheck check);
  // When it returns, `answered` is not called any more. 0 is no check's number. [any], also from `answered` and `tick`
  void remove(uint64_t number);
  void stop();  // idempotent

  size_t size() const;

 private:
  struct Entry {
    EngineCheck check;
    std::stop_source stop;
    uint64_t turn = 0;  // of the run; an answer to an earlier one is none
    bool is_running = false;
  };
  using EntryPtr = std::shared_ptr<Entry>;
  struct Answer;
  struct Inbox;  // outlives the engine while a provider still has something to say
  struct Due {
    uint64_t number, turn;
    EntryPtr entry;
    std::stop_token stop;
  };

  void work(const std::stop_token& stop);
  std::vector<Due> take_due(SteadyTime now);
  void start(const Due& due);
  bool start_waiting(const Due& due, CheckProvider::Told told);
  void end_overdue(SteadyTime now);
  void take(Answer answer);
  void wake();
  SteadyTime next_time() const;
  double chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  Clock& clock_;
  const std::function<void()> tick_;
  const Limits limits_;
  const std::shared_ptr<Inbox> inbox_;

  mutable Mutex mutex_;
  CondVar called_;  // an `answered` has returned
  std::map<uint64_t, EntryPtr> entries_ DROVER_GUARDED_BY(mutex_);
  Timetable due_ DROVER_GUARDED_BY(mutex_), ends_ DROVER_GUARDED_BY(mutex_);
  uint64_t last_ DROVER_GUARDED_BY(mutex_) = 0;
  size_t running_ DROVER_GUARDED_BY(mutex_) = 0;
  uint64_t calling_ DROVER_GUARDED_BY(mutex_) = 0;  // whose `answered` is called
  std::minstd_rand random_ DROVER_GUARDED_BY(mutex_){std::random_device{}()};
  SteadyTime next_tick_{};  // the thread's own
  ThreadPool pool_;
  std::jthread thread_;  // last: it ends first
};

}  // namespace drover::checks
