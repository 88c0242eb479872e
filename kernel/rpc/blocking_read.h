// Reads: once on a snapshot, or again and again until the answer's index has moved past the caller's.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "drover/methods.h"
#include "kernel/rpc/method_table.h"
#include "kernel/rpc/pool.h"
#include "kernel/state/watch.h"

namespace drover::state {
class Store;
}

namespace drover::rpc {

// Runs the handler on this thread; reads get a fresh snapshot. `store` may be null where a method does not read.
Result<Reply> answer_once(const Method& method, state::Store* store, const CallContext& context,
                          std::string_view request);

// A read that waits without a thread: it runs on the pool, and sleeps as an entry in the store's watch tables.
class BlockingRead : public std::enable_shared_from_this<BlockingRead> {
 public:
  struct Setup {
    const Method& method;
    state::Store& store;
    Pool& pool;
    Clock& clock;
    CallContext context;
    std::string request;
    std::chrono::nanoseconds default_wait;
    std::chrono::nanoseconds max_wait;
    std::stop_token stopping;  // of the router
    std::function<void(Result<Reply>)> done;
  };
  // `done` runs on the pool: with data newer than min_index; with the same data when the wait is over; with cancelled
  // when the caller has gone; with unavailable when the router stops.
  static void start(Setup setup);

 private:
  explicit BlockingRead(Setup setup);
  void run();
  void finish(Result<Reply> reply);

  // Runs the read again unless something else has woken it already.
  void wake(bool abandoned);

  Setup setup_;
  SteadyTime until_;
  std::mutex mutex_;
  // Guarded by mutex_.
  bool asleep_ = false;
  bool abandoned_ = false;
  bool finished_ = false;
  uint64_t timer_ = 0;
  state::Watch watch_;
  std::optional<std::stop_callback<std::function<void()>>> on_caller_gone_;
  std::optional<std::stop_callback<std::function<void()>>> on_stopping_;
};

}  // namespace drover::rpc
