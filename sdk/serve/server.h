// Answers calls on a Unix socket: methods by name, messages as bytes. Only grpc_server.cc knows gRPC.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "drover/clock.h"
#include "drover/result.h"
#include "drover/tls.h"

namespace drover::serve {

// One call. A handler runs on a thread of its own ("call") and may block.
class Call {
 public:
  virtual ~Call() = default;
  virtual const std::string& request() const = 0;  // the first
  // The next one; blocks. Nothing when the caller has said everything, has gone, or `stop` was requested. One at a
  // time, beside send().
  virtual std::optional<std::string> receive(std::stop_token stop) = 0;
  // Returns when the message is on its way; false when the call is over.
  virtual bool send(std::string message) = 0;
  // Requested when the caller has gone or the server ends.
  virtual std::stop_token stop() const = 0;
};

// Returns the call's status. A call with one answer sends it before.
using Handler = std::function<Status(Call&)>;
using Methods = std::map<std::string, Handler, std::less<>>;  // by "/package.Service/Method"

inline constexpr size_t kMaxCalls = 4096;  // at once; more are answered with resource_exhausted

// TLS on the socket: what this end shows, and the one certificate that it takes from the other.
struct ServerTls {
  TlsIdentity identity;
  std::string client;  // PEM
};

class Server {
 public:
  // Errors: unavailable when nobody can listen there.
  static Result<std::unique_ptr<Server>> listen(const std::string& socket, Methods methods,
                                                const std::optional<ServerTls>& tls = {});
  virtual ~Server() = default;

  // No new calls; those that are open have until then, and then their tokens are requested. Returns whether all of them
  // have ended by `deadline`. The destructor waits for those that have not. Once.
  virtual bool stop(SteadyTime open_until, SteadyTime deadline) = 0;
};

}  // namespace drover::serve
