// Attempts to connect, as many at a time as there are, on one thread, which the first one starts.
//
//   begin ──▶ (the thread "checks-tcp" waits for the socket) ──▶ told, once
//                └ stop requested, or Connections::stop: told "cancelled"
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "drover/fd.h"
#include "drover/mutex.h"
#include "drover/result.h"

namespace drover::check_tcp {

// Where to connect to.
struct Target {
  std::string text;   // "127.0.0.1:80", "[::1]:80"
  std::string bytes;  // a sockaddr
  int family = 0;
};
// Nothing when the address is no IP address. Pure.
std::optional<Target> target_of(const std::string& address, uint16_t port);

class Connections {
 public:
  // Ok: connected. Errors: unavailable with the reason as the service's fault; cancelled; resource_exhausted when this
  // machine has no more sockets.
  using Told = std::function<void(Status)>;

  Connections();
  ~Connections();  // stops

  // `told` comes on the thread, or before this returns. [any]
  void begin(const Target& target, std::stop_token stop, Told told);
  // Returns when all have been told. Idempotent. [any]
  void stop();

 private:
  struct Attempt;
  void open() DROVER_REQUIRES(mutex_);
  void run(const std::stop_token& stop);
  void wake();
  void take_orders();
  void end(uint64_t number, const Status& status);
  void end_all();

  Mutex mutex_;
  Fd events_, wakeup_;  // constant once the thread runs
  std::deque<std::unique_ptr<Attempt>> new_ DROVER_GUARDED_BY(mutex_);
  std::deque<uint64_t> cancelled_ DROVER_GUARDED_BY(mutex_);
  uint64_t last_ DROVER_GUARDED_BY(mutex_) = 0;
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
  std::map<uint64_t, std::unique_ptr<Attempt>> running_;  // the thread's own
  std::jthread thread_;                                   // last: it ends first
};

}  // namespace drover::check_tcp
