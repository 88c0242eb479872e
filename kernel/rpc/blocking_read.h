// A read that waits for news without a thread: it looks once, on the pool, and then sleeps as an entry in the store's
// watch tables until what it looked at has changed, or there is a reason to look no longer.
//
//   looks ──news, or the wait is over──▶ answered
//     │
//     └──nothing new──▶ asleep ──changed, time, leadership lost──▶ again (the router carries it on from the beginning)
//                          └─────caller gone, stop, state replaced──▶ answered with an error
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>

#include "drover/methods.h"
#include "drover/mutex.h"
#include "drover/thread_pool.h"
#include "kernel/rpc/method_table.h"
#include "kernel/state/watch.h"

namespace drover::state {
class Store;
}

namespace drover::rpc {

class BlockingRead : public std::enable_shared_from_this<BlockingRead> {
 public:
  struct Setup {
    const Method& method;
    state::Store& store;
    ThreadPool& pool;
    Clock& clock;
    // Both live until `done` or `again` is called.
    const CallContext& context;
    std::string_view request;
    SteadyTime until;            // then it is answered whatever it finds
    std::stop_token leadership;  // under which its answer was confirmed; one that cannot stop: it need not be
    std::stop_token stopping;    // of the router
    // One of the two is called, once, on the pool.
    std::function<void(Result<Reply>)> done;
    std::function<void()> again;
  };
  // Looks on this thread. [pool]
  static void start(Setup setup);

 private:
  using OnStop = std::optional<std::stop_callback<std::function<void()>>>;
  explicit BlockingRead(Setup setup) : setup_(std::move(setup)) {}
  void sleep(const state::ReadSet& looked);
  void wake(state::WakeReason reason);
  void wake_on(OnStop& on_stop, const std::stop_token& token);
  void resume();

  const Setup setup_;
  state::Watch watch_;
  uint64_t timer_ = 0;
  OnStop on_caller_gone_, on_stopping_, on_leadership_lost_;
  Mutex mutex_;
  bool is_asleep_ DROVER_GUARDED_BY(mutex_) = false;
  bool is_woken_ DROVER_GUARDED_BY(mutex_) = false;
  bool is_abandoned_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::rpc
