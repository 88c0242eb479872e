#include "workers.h"

#include <pthread.h>

#include <system_error>

#include "drover/mutex.h"

namespace drover::serve {

Workers::~Workers() {
  {
    const MutexLock lock(mutex_);
    is_closed_ = true;
    for (Seat* const seat : asleep_) seat->called.notify_one();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool Workers::post(std::function<void()> task) {
  const MutexLock lock(mutex_);
  if (busy_ >= limit_ || is_closed_) return false;
  queue_.push_back(std::move(task));
  if (++busy_ > threads_.size()) {
    try {
      threads_.emplace_back([this] {
        ::pthread_setname_np(::pthread_self(), "call");
        run();
      });
    } catch (const std::system_error&) {  // the process may have no more
      queue_.pop_back();
      --busy_;
      return false;
    }
  } else if (!asleep_.empty()) {
    Seat& seat = *asleep_.back();
    asleep_.pop_back();
    seat.is_called = true;
    seat.called.notify_one();  // under the lock: the seat goes with its thread
  }
  return true;
}

bool Workers::wait_idle(SteadyTime deadline) {
  MutexLock lock(mutex_);
  return finished_.wait_until(lock, deadline, [this]() DROVER_REQUIRES(mutex_) { return busy_ == 0; });
}

void Workers::run() {
  Seat seat;
  MutexLock lock(mutex_);
  while (true) {
    while (queue_.empty()) {
      if (is_closed_) return;
      asleep_.push_back(&seat);
      seat.called.wait(lock, [&]() DROVER_REQUIRES(mutex_) { return seat.is_called || is_closed_; });
      seat.is_called = false;
    }
    std::function<void()> task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds goes outside the lock
    lock.lock();
    --busy_;
    finished_.notify_all();
  }
}

}  // namespace drover::serve
