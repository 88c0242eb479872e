#include "kernel/rpc/pool.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "drover/stopping.h"

namespace drover::rpc {
namespace {

constexpr auto kStandInTime = std::chrono::seconds(5);  // without a task, until one ends

thread_local const Pool* working_for = nullptr;

}  // namespace

Pool::Pool(const Options& options, Clock& clock) : clock_(clock), options_(options) {
  for (size_t i = 0; i < options_.workers; ++i) {
    threads_.emplace_back([this] { work(false); });
    pthread_setname_np(threads_.back().native_handle(), "pool");
  }
  threads_.emplace_back([this] { keep_time(); });
  pthread_setname_np(threads_.back().native_handle(), "timer");
}

Pool::~Pool() { stop(); }

void Pool::post(std::function<void()> task) {
  Seat* called = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.push_back(std::move(task));
    called = take_on_locked();
  }
  if (called) called->called.notify_one();
}

// Finds a worker for what is queued: one whom the caller is to wake, or nobody. They are woken one after the other:
// each that takes a task sees whether there is more.
Pool::Seat* Pool::take_on_locked() {
  if (tasks_.empty() || is_calling_) return nullptr;
  if (!asleep_.empty()) {
    Seat* const called = asleep_.back();
    asleep_.pop_back();
    is_calling_ = called->is_called = true;
    return called;
  }
  if (stopping_ || stand_ins_ >= std::min(away_, options_.max_stand_ins)) return nullptr;
  ++stand_ins_;
  std::thread([this] {
    pthread_setname_np(pthread_self(), "pool");
    work(true);
    // The last touch of this object: stop() waits for it under the same lock.
    std::lock_guard ended(mutex_);
    --stand_ins_;
    thread_ended_.notify_all();
  }).detach();  // counted in stand_ins_, which stop() waits out
  return nullptr;
}

Pool::Absence::Absence(Pool& pool) : pool_(working_for == &pool ? &pool : nullptr) {
  if (!pool_) return;
  Seat* called = nullptr;
  {
    std::lock_guard lock(pool_->mutex_);
    ++pool_->away_;
    called = pool_->take_on_locked();
  }
  if (called) called->called.notify_one();
}

Pool::Absence::~Absence() {
  if (!pool_) return;
  std::lock_guard lock(pool_->mutex_);
  --pool_->away_;
}

uint64_t Pool::post_at(SteadyTime when, std::function<void()> task) {
  std::lock_guard lock(mutex_);
  const uint64_t timer = next_timer_++;
  if (stopping_) return timer;
  auto at = timers_.emplace(when, std::pair(timer, std::move(task)));
  if (at == timers_.begin()) has_timer_.notify_one();
  return timer;
}

bool Pool::cancel_timer(uint64_t timer) {
  std::function<void()> dropped;  // destroyed outside the lock: it may own anything
  std::lock_guard lock(mutex_);
  for (auto at = timers_.begin(); at != timers_.end(); ++at) {
    if (at->second.first != timer) continue;
    dropped = std::move(at->second.second);
    timers_.erase(at);
    return true;
  }
  return false;
}

Status Pool::run_stream(std::function<void()> body) {
  std::lock_guard lock(mutex_);
  if (stopping_) return agent_is_stopping();
  if (streams_ >= options_.max_streams) {
    return resource_exhausted("too many streams are open (limit " + std::to_string(options_.max_streams) + ")");
  }
  ++streams_;
  std::thread([this, body = std::move(body)] {
    pthread_setname_np(pthread_self(), "stream");
    body();
    // The last touch of this object: stop() waits for it under the same lock.
    std::lock_guard ended(mutex_);
    --streams_;
    thread_ended_.notify_all();
  }).detach();  // counted in streams_, which stop() waits out
  return ok_status();
}

// False when a stand-in has slept long enough: nobody called it.
bool Pool::sleep_locked(std::unique_lock<std::mutex>& lock, Seat& seat, bool is_stand_in) {
  asleep_.push_back(&seat);
  const auto is_over = [&] { return seat.is_called || stopping_; };
  if (is_stand_in) {
    seat.called.wait_for(lock, kStandInTime, is_over);
  } else {
    seat.called.wait(lock, is_over);
  }
  if (!std::exchange(seat.is_called, false)) return std::erase(asleep_, &seat), stopping_;
  is_calling_ = false;
  return true;
}

void Pool::work(bool is_stand_in) {
  working_for = this;
  std::unique_lock lock(mutex_);
  if (spare_.empty()) spare_.push_back(&seats_.emplace_back());
  Seat& seat = *spare_.back();
  spare_.pop_back();
  while (!stopping_) {
    if (tasks_.empty()) {
      if (!sleep_locked(lock, seat, is_stand_in) && tasks_.empty()) break;
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
  spare_.push_back(&seat);
}

void Pool::keep_time() {
  std::unique_lock lock(mutex_);
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

void Pool::stop() {
  std::deque<std::function<void()>> dropped_tasks;
  decltype(timers_) dropped_timers;
  std::vector<std::thread> threads;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    dropped_tasks.swap(tasks_);
    dropped_timers.swap(timers_);
    threads.swap(threads_);
    for (Seat* const seat : asleep_) seat->called.notify_one();
    has_timer_.notify_all();
    thread_ended_.wait(lock, [this] { return streams_ == 0 && stand_ins_ == 0; });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace drover::rpc
