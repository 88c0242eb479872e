// Listens for the HTTP API: accepts, bounds how many connections one address may hold, and owns every session.
// Boost.Asio and Beast; only server.cc and session.cc include them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drover/methods.h"
#include "drover/metrics.h"
#include "drover/result.h"
#include "routes.h"

namespace drover::api {

struct ServerOptions {
  std::vector<std::string> addresses;        // "host:port"; port 0 takes a free one
  size_t max_connections_per_address = 100;  // 0: no limit
  uint64_t max_body_bytes = 8 << 20;
  // For a whole request once its first byte has come, and for an answer of which the client reads nothing meanwhile.
  std::chrono::seconds read_timeout{30};
  std::chrono::seconds idle_timeout{300};
  std::map<std::string, std::string> headers;  // on every answer below /v1/
};

// [any]
class Server {
 public:
  Server(ServerOptions options, const Routes& routes, Caller& caller, Metrics& metrics);
  ~Server();  // stops
  // Errors: already_exists when the port is in use, saying which; permission_denied.
  Status start();
  // The address in use, with the real port.
  std::string address() const;
  // Closes every connection and waits for their calls to end. Idempotent.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drover::api
