#include "drover/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "drover/mutex.h"
#include "drover/stopping.h"

namespace drover {
namespace {

constexpr auto kIdleTime = std::chrono::seconds(5);  // until a borrowed thread that has nothing to run ends

}  // namespace

ThreadPool::ThreadPool(const Options& options, Clock& clock) : clock_(clock), options_(options) {
  for (size_t i = 0; i < options_.workers; ++i) {
    threads_.emplace_back([this] { work(); });
    pthread_setname_np(threads_.back().native_handle(), "pool");
  }
  threads_.emplace_back([this] { keep_time(); });
  pthread_setname_np(threads_.back().native_handle(), "timer");
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::post(std::function<void()> task) {
  Seat* called = nullptr;
  {
    MutexLock lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
    called = take_on_locked();
  }
  if (called) called->called.notify_one();
}

// Finds a worker for what is queued: one whom the caller is to wake, or nobody. They are woken one after the other:
// each that takes a task sees whether there is more.
ThreadPool::Seat* ThreadPool::take_on_locked() {
  if (tasks_.empty() || is_calling_ || asleep_.empty()) return nullptr;
  Seat* const called = asleep_.back();
  asleep_.pop_back();
  is_calling_ = called->is_called = true;
  return called;
}

uint64_t ThreadPool::post_at(SteadyTime when, std::function<void()> task) {
  MutexLock lock(mutex_);
  const uint64_t timer = next_timer_++;
  if (stopping_) return timer;
  auto at = timers_.emplace(when, std::pair(timer, std::move(task)));
  if (at == timers_.begin()) has_timer_.notify_one();
  return timer;
}

bool ThreadPool::cancel_timer(uint64_t timer) {
  std::function<void()> dropped;  // destroyed outside the lock: it may own anything
  MutexLock lock(mutex_);
  for (auto at = timers_.begin(); at != timers_.end(); ++at) {
    if (at->second.first != timer) continue;
    dropped = std::move(at->second.second);
    timers_.erase(at);
    return true;
  }
  return false;
}

Status ThreadPool::run_blocking(std::function<void()> body) {
  MutexLock lock(mutex_);
  if (stopping_) return agent_is_stopping();
  if (!idle_.empty()) {
    Seat* const seat = idle_.back();
    idle_.pop_back();
    seat->is_called = true;
    seat->body = std::move(body);
    lock.unlock();
    seat->called.notify_one();
    return ok_status();
  }
  if (borrowed_ >= options_.max_borrowed) {
    return resource_exhausted("too many calls and streams are open (limit " + std::to_string(options_.max_borrowed) +
                              ")");
  }
  if (spare_.empty()) spare_.push_back(&seats_.emplace_back());
  Seat& seat = *spare_.back();
  spare_.pop_back();
  seat.body = std::move(body);
  ++borrowed_;
  std::thread([this, &seat] { lend(seat); }).detach();  // counted in borrowed_, which stop() waits out
  return ok_status();
}

// The life of a borrowed thread.
void ThreadPool::lend(Seat& seat) {
  pthread_setname_np(pthread_self(), "borrowed");
  MutexLock lock(mutex_);
  do {
    std::function<void()> body = std::exchange(seat.body, nullptr);
    lock.unlock();
    body();
    body = nullptr;
    lock.lock();
    if (stopping_) break;
    idle_.push_back(&seat);
    seat.called.wait_for(lock, kIdleTime, [&]() DROVER_REQUIRES(mutex_) { return seat.is_called || stopping_; });
    if (!seat.is_called) std::erase(idle_, &seat);
  } while (std::exchange(seat.is_called, false));
  spare_.push_back(&seat);
  // The last touch of this object: stop() waits for it under the same lock.
  --borrowed_;
  thread_ended_.notify_all();
}

void ThreadPool::work() {
  MutexLock lock(mutex_);
  Seat& seat = seats_.emplace_back();
  while (!stopping_) {
    if (tasks_.empty()) {
      asleep_.push_back(&seat);
      seat.called.wait(lock, [&]() DROVER_REQUIRES(mutex_) { return seat.is_called || stopping_; });
      if (std::exchange(seat.is_called, false)) is_calling_ = false;
      continue;
    }
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    Seat* const called = take_on_locked();
    lock.unlock();
    if (called) called->called.notify_one();
    task();
    task = nullptr;
    lock.lock();
  }
}

void ThreadPool::keep_time() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    if (timers_.empty()) {
      has_timer_.wait(lock);
      continue;
    }
    const SteadyTime due = timers_.begin()->first;
    if (clock_.steady() < due) {
      has_timer_.wait_until(lock, due);
      continue;
    }
    tasks_.push_back(std::move(timers_.begin()->second.second));
    timers_.erase(timers_.begin());
    if (Seat* const called = take_on_locked()) called->called.notify_one();
  }
}

void ThreadPool::stop() {
  std::deque<std::function<void()>> dropped_tasks;
  decltype(timers_) dropped_timers;
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    dropped_tasks.swap(tasks_);
    dropped_timers.swap(timers_);
    threads.swap(threads_);
    for (Seat& seat : seats_) seat.called.notify_one();
    has_timer_.notify_all();
    thread_ended_.wait(lock, [this]() DROVER_REQUIRES(mutex_) { return borrowed_ == 0; });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace drover
