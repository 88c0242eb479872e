// One thing after the other, without a thread of its own: what is posted runs on a thread of the pool, never two at the
// same time. Coroutines live on a strand; while one waits it is a few hundred bytes.
//
//   co_await strand.borrow(call)     a call that may wait, on a borrowed thread; goes on here with its result
//   co_await strand.told<Value>(ask) calls ask(tell), which waits for nothing; goes on with what tell is given
//   co_await wakeup.wait(until)      until wake() is called, or the time has come
//
// Tasks of a strand must not wait for anything but this machine's disk.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "async.h"
#include "drover/mutex.h"
#include "drover/thread_pool.h"

namespace drover::agent {

class Strand {
 public:
  // Requires: the pool outlives it, and lends as many threads as are asked for.
  explicit Strand(ThreadPool& pool);
  ~Strand() { join(); }
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;

  void post(std::function<void()> task);  // [any]
  // Runs it to its end. [any]
  void spawn(Async<> work);
  // Until all that was spawned has ended. Not from the strand itself.
  void join();
  // Ends the process unless one of its tasks runs this: DROVER_ASSERT_ON(strand).
  void check(const char* function) const { core_->check(function); }

  template <typename Work>
  auto borrow(Work work);
  // `tell` is called once, on any thread.
  template <typename Value, typename Ask>
  auto told(Ask ask);

 private:
  friend class Wakeup;
  // Outlives the strand while a timer or a borrowed thread still has something to post.
  struct Core : std::enable_shared_from_this<Core> {
    explicit Core(ThreadPool& p) : pool(p) {}
    void post(std::function<void()> task);
    void run();
    void check(const char* function) const {
      if (!thread.is_bound_here()) thread.fail(function);
    }

    ThreadPool& pool;
    ThreadChecker thread{"strand"};  // bound while a task runs
    Mutex mutex;
    CondVar changed;
    std::deque<std::function<void()>> tasks DROVER_GUARDED_BY(mutex);
    bool is_running DROVER_GUARDED_BY(mutex) = false;
    size_t spawned DROVER_GUARDED_BY(mutex) = 0;  // and not ended
  };
  struct Spawned;
  static Spawned see_off(std::shared_ptr<Core> core, Async<> work);

  template <typename Work>
  struct Borrowed {
    using Value = decltype(std::declval<Work&>()());
    std::shared_ptr<Core> core;
    Work work;
    std::optional<Value> value{};

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      // Nothing of this object is touched once it has been told to go on.
      DROVER_CHECK(core->pool
                       .run_blocking([this, strand = core, waiting] {
                         value.emplace(work());
                         strand->post([waiting] { waiting.resume(); });
                       })
                       .ok());
    }
    Value await_resume() { return *std::move(value); }
  };

  template <typename Value, typename Ask>
  struct Told {
    std::shared_ptr<Core> core;
    Ask ask;
    std::optional<Value> value{};

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      ask([this, strand = core, waiting](Value told) {
        value.emplace(std::move(told));
        strand->post([waiting] { waiting.resume(); });
      });
    }
    Value await_resume() { return *std::move(value); }
  };

  std::shared_ptr<Core> core_;
};

template <typename Value, typename Ask>
auto Strand::told(Ask ask) {
  return Told<Value, Ask>{core_, std::move(ask)};
}

template <typename Work>
auto Strand::borrow(Work work) {
  return Borrowed<Work>{core_, std::move(work)};
}

// Where one coroutine of a strand waits until something has changed.
class Wakeup {
 public:
  explicit Wakeup(Strand& strand) : place_(std::make_shared<Place>(strand.core_)) {}

  void wake();  // [any]

  struct Wait;
  // Yields true when woken, false when the time has come. Look before waiting: a wake() while nobody waits is lost.
  Wait wait(std::optional<SteadyTime> until = {});

 private:
  struct Place : std::enable_shared_from_this<Place> {
    explicit Place(std::shared_ptr<Strand::Core> core) : strand(std::move(core)) {}
    void resume(bool is_woken);

    const std::shared_ptr<Strand::Core> strand;
    std::coroutine_handle<> waiting{};  // the strand's own, like the following
    uint64_t turn = 0;                  // of the wait; an earlier one's timer is none of ours
    uint64_t timer = 0;                 // 0: none
    bool was_woken = false;
  };
  std::shared_ptr<Place> place_;
};

struct Wakeup::Wait {
  std::shared_ptr<Place> place;
  std::optional<SteadyTime> until;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting);
  bool await_resume() const noexcept { return place->was_woken; }
};

}  // namespace drover::agent
