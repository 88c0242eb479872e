// The HTTP API on one more socket, beside the agent's own: what a task's API socket needs. Provided by the plugin http,
// as "http". [any]
#pragma once

#include <memory>
#include <string_view>

#include "drover/fd.h"
#include "drover/result.h"

namespace drover {

class ApiListener {
 public:
  static constexpr std::string_view kExtensionPoint = "api_listener";
  virtual ~ApiListener() = default;

  // A socket that is served. Its end closes it and the connections that came over it, and waits for that: nothing of it is
  // left then. Not to be ended on a thread of the API.
  class Served {
   public:
    virtual ~Served() = default;
  };
  // Serves the API on this listening stream socket. Whoever shows no token there is refused (401), also where access
  // control is off. Errors: failed_precondition before the API has started, and when it has ended.
  virtual Result<std::unique_ptr<Served>> serve(Fd listening) = 0;
};

}  // namespace drover
