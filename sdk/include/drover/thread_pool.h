// Threads for handlers and delayed work.
//
// Workers take tasks from one queue. A task never waits for anything, so a few workers serve any number of callers.
// Handlers that act, streams and tasks that plugins post may wait: each borrows a thread of its own, up to a limit. The
// thread stays for a while and serves the next that comes. [any]
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "drover/clock.h"
#include "drover/executor.h"
#include "drover/mutex.h"
#include "drover/result.h"

namespace drover {

class ThreadPool final : public Executor {
 public:
  struct Options {
    size_t workers = std::max(4u, std::thread::hardware_concurrency());
    size_t max_borrowed = 1536;
  };
  ThreadPool(const Options& options, Clock& clock);
  ~ThreadPool() override;  // stops

  void post(std::function<void()> task) override;
  uint64_t post_at(SteadyTime when, std::function<void()> task) override;
  bool cancel_timer(uint64_t timer) override;
  Status run_blocking(std::function<void()> body) override;

  // Drops queued tasks and waits for running ones. Idempotent. Requires: those that wait on a borrowed thread have been
  // told to end.
  void stop();

 private:
  // Where one thread sleeps. Each on a condition variable of its own: glibc before 2.41 now and then loses a signal
  // among several that wait for one (its bug 25847), and what is queued here then waits for good.
  struct Seat {
    CondVar called;
    bool is_called = false;
    std::function<void()> body;  // of a borrowed thread: what to run next
  };

  void work();
  void lend(Seat& seat);
  Seat* take_on_locked() DROVER_REQUIRES(mutex_);
  void keep_time();

  Clock& clock_;
  const Options options_;
  Mutex mutex_;
  CondVar has_timer_;
  CondVar thread_ended_;  // a borrowed one
  std::deque<std::function<void()>> tasks_ DROVER_GUARDED_BY(mutex_);
  std::multimap<SteadyTime, std::pair<uint64_t, std::function<void()>>> timers_ DROVER_GUARDED_BY(mutex_);
  uint64_t next_timer_ DROVER_GUARDED_BY(mutex_) = 1;
  std::deque<Seat> seats_ DROVER_GUARDED_BY(mutex_);     // never shrinks: threads are called without the lock
  std::vector<Seat*> spare_ DROVER_GUARDED_BY(mutex_);   // nobody's
  std::vector<Seat*> asleep_ DROVER_GUARDED_BY(mutex_);  // workers; the last one to sleep is the first to be called
  std::vector<Seat*> idle_ DROVER_GUARDED_BY(mutex_);  // borrowed threads with nothing to run, called in the same order
  size_t borrowed_ DROVER_GUARDED_BY(mutex_) = 0;      // all of them
  bool is_calling_ DROVER_GUARDED_BY(mutex_) = false;  // a worker that was asleep has been called and is not awake yet
  bool stopping_ DROVER_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover
