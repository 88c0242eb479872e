// Listens for the HTTP API: accepts, bounds how many connections one address may hold, and owns every session.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drover/api_listener.h"
#include "drover/methods.h"
#include "drover/metrics.h"
#include "drover/result.h"
#include "routes.h"
#include "transport/tls_settings.h"

namespace drover::api {

struct ServerOptions {
  std::vector<std::string> addresses;        // "host:port"; port 0 takes a free one
  std::optional<TlsSettings> tls;            // of the addresses; none: in the clear
  size_t max_connections_per_address = 100;  // 0: no limit
  uint64_t max_body_bytes = 8 << 20;
  bool limits_attempts = true;  // guard/attempts.h
  // For a whole request once its first byte has come, and for an answer of which the client reads nothing meanwhile.
  std::chrono::seconds read_timeout{30};
  std::chrono::seconds idle_timeout{300};
  std::chrono::seconds ping_interval{10};                                // of an open conversation
  std::chrono::nanoseconds handshake_timeout = std::chrono::seconds(5);  // of TLS, its first byte included
  std::map<std::string, std::string> headers;                            // on every answer
};

// [any]
class Server {
 public:
  Server(ServerOptions options, const Routes& routes, Caller& caller, Metrics& metrics);
  ~Server();  // stops
  // Errors: already_exists when the port is in use, saying which; permission_denied; those of make_tls_context.
  Status start();
  // Reads the files of TLS again, for connections from here on; those that are open stay. Errors: those of
  // make_tls_context, and nothing has changed.
  Status reload_tls();
  // As ApiListener::serve, in the clear; at most 64 connections at a time. What it returns may outlive this object.
  // Errors: failed_precondition when it has stopped.
  Result<std::unique_ptr<ApiListener::Served>> serve(Fd listening);
  // The address in use, with the real port.
  std::string address() const;
  // Closes every connection and waits for their calls to end. Idempotent.
  void stop();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // alone, but for a Served that ends at the moment
};

}  // namespace drover::api
