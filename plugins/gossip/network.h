// The gossip core on real sockets: UDP for packets, TCP for exchanges of full states, both on one port. One thread,
// [gossip], owns the core. Boost.Asio; only network.cc includes it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core.h"
#include "drover/metrics.h"
#include "seal.h"

namespace drover::gossip {

class Network {
 public:
  // Joined servers, and what kept the others from being joined.
  using Joined = std::function<void(size_t count, std::string errors)>;

  // Binds "host:port"; port 0 takes a free one. Errors: invalid_argument, already_exists when the port is taken.
  static Result<std::unique_ptr<Network>> open(const std::string& address, Seal seal, Clock& clock, Metrics& metrics);
  ~Network();  // stops

  uint16_t port() const;
  // Seals and opens from now on. [any]
  void reseal(Seal seal);
  // Starts the thread. `beat` runs on it at least ten times a second and after every change; it must not block.
  void run(std::unique_ptr<Core> core, std::function<void(Core&)> beat);
  // Runs on [gossip]. Dropped after stop(). [any]
  void post(std::function<void(Core&)> task);
  // Exchanges full states with each of these; names are resolved. `done` runs on [gossip], also when stopping.
  // Joining oneself does not count. [any]
  void join(std::vector<std::string> addresses, Joined done);
  void stop();  // idempotent

 private:
  class Impl;
  explicit Network(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace drover::gossip
