// HTTP requests, as many at a time as there are, on one thread, which the first one starts. libcurl does the talking.
//
//   begin ──▶ (the thread "checks-http": connects, asks, follows redirects) ──▶ told, once
//                └ stop requested, or Exchanges::stop: told "cancelled"
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <thread>

#include "drover/mutex.h"
#include "request.h"

namespace drover::check_http {

class Exchanges {
 public:
  using Told = std::function<void(Result<v1::CheckResult>)>;

  Exchanges();
  ~Exchanges();  // stops

  // `told` comes on the thread. A service that does not answer is critical. Errors: cancelled; unavailable after
  // stop(). [any]
  void begin(HttpRequest request, std::stop_token stop, Told told);
  // Returns when all have been told. Idempotent. [any]
  void stop();

 private:
  struct Exchange;
  struct Curl;
  void open() DROVER_REQUIRES(mutex_);
  void run(const std::stop_token& stop);
  void wake();
  void take_orders();
  void start(std::unique_ptr<Exchange> exchange);
  void collect();
  void cancel(uint64_t number);
  void end_all();

  Mutex mutex_;
  std::unique_ptr<Curl> curl_;  // constant once the thread runs; but for waking it, the thread's own
  std::deque<std::unique_ptr<Exchange>> new_ DROVER_GUARDED_BY(mutex_);
  std::deque<uint64_t> cancelled_ DROVER_GUARDED_BY(mutex_);
  uint64_t last_ DROVER_GUARDED_BY(mutex_) = 0;
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
  std::map<uint64_t, std::unique_ptr<Exchange>> running_;  // the thread's own
  std::jthread thread_;                                    // last: it ends first
};

}  // namespace drover::check_http
