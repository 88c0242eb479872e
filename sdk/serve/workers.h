// Threads for handlers that may block: as many as there were calls at once, and never more than a limit.
#pragma once

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "drover/clock.h"
#include "drover/mutex.h"

namespace drover::serve {

class Workers {
 public:
  explicit Workers(size_t limit) : limit_(limit) {}
  // Joins: what was posted is done first.
  ~Workers();

  // False when `limit` tasks are running; the task is dropped then. [any]
  bool post(std::function<void()> task);
  // Until nothing runs and nothing waits. [any]
  bool wait_idle(SteadyTime deadline);

 private:
  // Where one thread sleeps. Each on a condition variable of its own: glibc before 2.41 now and then loses a signal
  // among several that wait for one (its bug 25847), and what was posted then waits for good.
  struct Seat {
    CondVar called;
    bool is_called = false;
  };
  void run();

  const size_t limit_;
  Mutex mutex_;
  CondVar finished_;
  std::deque<std::function<void()>> queue_ DROVER_GUARDED_BY(mutex_);
  size_t busy_ DROVER_GUARDED_BY(mutex_) = 0;  // running or waiting in the queue
  bool is_closed_ DROVER_GUARDED_BY(mutex_) = false;
  std::vector<Seat*> asleep_ DROVER_GUARDED_BY(mutex_);  // on the stacks of their threads
  std::vector<std::thread> threads_;
};

}  // namespace drover::serve
