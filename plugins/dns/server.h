// Listens for questions: datagrams and connections at the same addresses, from the places that may ask. Everything runs
// on one thread, "dns", with the loop that timers and answers of others come by.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drover/metrics.h"
#include "drover/subnet.h"
#include "registry/loop.h"
#include "resolver.h"

namespace drover::dns {

struct ServerOptions {
  std::vector<std::string> addresses;  // "IP:port", "[IP]:port"; port 0 takes a free one
  std::vector<Subnet> clients;         // who may ask; others get no answer, and no connection
  size_t max_connections = 64;         // at a time
  std::chrono::nanoseconds idle = std::chrono::seconds(10);  // of a connection, until the next question is whole
};

class Server {
 public:
  using Answer = std::function<void(std::string_view question, Transport transport, Resolver::Done done)>;

  explicit Server(ServerOptions options, Metrics& metrics);
  ~Server();  // stops

  std::shared_ptr<Loop> loop() const;
  // `answer` is called on the loop, and outlived by the server's stop. Errors: invalid_argument for an address that is
  // none; already_exists where another program listens there; permission_denied.
  Status start(Answer answer);
  // The addresses in use, with real ports. After start.
  std::vector<std::string> addresses() const;
  // Nothing runs on the loop any more. Idempotent.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drover::dns
