// Reads: once on a snapshot, or again and again until the answer's index has moved past the caller's.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "drover/methods.h"
#include "kernel/rpc/method_table.h"
#include "kernel/rpc/pool.h"

namespace drover::state {
class Store;
}

namespace drover::rpc {

// Runs the handler on this thread; reads get a fresh snapshot. `store` may be null where a method does not read.
Result<Reply> answer_once(const Method& method, state::Store* store, const CallContext& context, std::string_view request);

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
  void sleep(Reply reply, std::unique_ptr<struct Looked> looked);
  void wake();
  void finish(Result<Reply> reply);

  Setup setup_;
  SteadyTime until_;
  struct Sleep;
  std::unique_ptr<Sleep> sleep_;
};

}  // namespace drover::rpc
