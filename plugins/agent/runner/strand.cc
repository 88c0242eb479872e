#include "strand.h"

#include "drover/result.h"

namespace drover::agent {

Strand::Strand(ThreadPool& pool) : core_(std::make_shared<Core>(pool)) {}

void Strand::post(std::function<void()> task) { core_->post(std::move(task)); }

void Strand::Core::post(std::function<void()> task) {
  {
    MutexLock lock(mutex);
    tasks.push_back(std::move(task));
    if (is_running) return;
    is_running = true;
  }
  pool.post([self = shared_from_this()] { self->run(); });
}

void Strand::Core::run() {
  MutexLock lock(mutex);
  while (!tasks.empty()) {
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    thread.bind();
    task();
    task = nullptr;
    thread.unbind();
    lock.lock();
  }
  is_running = false;
  changed.notify_all();
}

// A coroutine that nobody awaits: it keeps the work and destroys itself after it.
struct Strand::Spawned {
  struct promise_type {
    Spawned get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

Strand::Spawned Strand::see_off(std::shared_ptr<Core> core, Async<> work) {
  co_await work;
  const MutexLock lock(core->mutex);
  --core->spawned;
}

void Strand::spawn(Async<> work) {
  {
    MutexLock lock(core_->mutex);
    ++core_->spawned;
  }
  const auto handle = see_off(core_, std::move(work)).handle;
  core_->post([handle] { handle.resume(); });
}

void Strand::join() {
  MutexLock lock(core_->mutex);
  core_->changed.wait(lock,
                      [this]() DROVER_REQUIRES(core_->mutex) { return core_->spawned == 0 && !core_->is_running; });
}

void Wakeup::wake() {
  place_->strand->post([place = place_] { place->resume(true); });
}

Wakeup::Wait Wakeup::wait(std::optional<SteadyTime> until) { return {place_, until}; }

void Wakeup::Place::resume(bool is_woken) {
  DROVER_ASSERT_ON(*strand);
  if (!waiting) return;
  was_woken = is_woken;
  const uint64_t ticking = std::exchange(timer, 0);
  if (is_woken && ticking != 0) strand->pool.cancel_timer(ticking);
  std::exchange(waiting, {}).resume();
}

void Wakeup::Wait::await_suspend(std::coroutine_handle<> waiting) {
  DROVER_ASSERT_ON(*place->strand);
  place->waiting = waiting;
  const uint64_t turn = ++place->turn;
  if (!until) return;
  place->timer = place->strand->pool.post_at(*until, [ended = place, turn] {
    ended->strand->post([ended, turn] {
      if (ended->turn == turn) ended->resume(false);
    });
  });
}

}  // namespace drover::agent
