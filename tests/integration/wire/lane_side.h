// One server as its lanes see it: threads and a wire. And what the tests of lanes wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drover/thread_pool.h"
#include "plugins/grpc/wire.h"

namespace drover::wire {

// Values that other threads add, and that the test waits for.
template <typename T>
class Heard {
 public:
  void add(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }
  // At least `count` of them, or what there is after a while.
  std::vector<T> wait_for(size_t count, std::chrono::nanoseconds time = std::chrono::seconds(15)) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [&] { return values_.size() >= count; });
    return values_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> values_;  // guarded by mutex_
};

// Nobody calls here.
class NoRouter final : public Caller {
 public:
  void call(CallContext, std::string, std::function<void(Result<Reply>)> done) override { done(unavailable("none")); }
  Result<Reply> call_and_wait(CallContext, std::string) override { return unavailable("none"); }
  Result<std::unique_ptr<StreamCall>> open(CallContext, std::string, StreamReceiver) override {
    return unavailable("none");
  }
};

// Everything but the lanes is absent.
class LaneSide {
 public:
  void start(LaneAcceptor* lanes, std::optional<Tls> tls = {}) {
    wire->start({.router = router,
                 .form_of = [](std::string_view) { return MethodForm::unknown; },
                 .executor = pool,
                 .clock = clock,
                 .tls = std::move(tls),
                 .verify_node = [](const Uuid&, const std::string&) { return ok_status(); },
                 .unreachable = [](const std::string&) {},
                 .lanes = lanes});
  }
  ~LaneSide() {
    wire->stop();
    pool.stop();
  }

  SystemClock clock;
  NoRouter router;
  ThreadPool pool{ThreadPool::Options{.workers = 2}, clock};
  const std::unique_ptr<Wire> wire = make_grpc_wire();
};

}  // namespace drover::wire
