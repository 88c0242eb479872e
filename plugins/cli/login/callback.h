// Waits for a person's browser to come back from a provider: a server for one request, on this machine.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "drover/fd.h"
#include "drover/result.h"

namespace drover::cli {

struct Callback {
  bool is_it = false;  // of the expected path, with a code or an error
  std::string state, code, error;
};

// Reads the head of an HTTP request. Pure.
Callback read_callback(std::string_view head);

class CallbackServer {
 public:
  // "localhost:4649": every address that the name has. Errors: invalid_argument, or those of listening.
  static Result<CallbackServer> open(const std::string& address);

  // Shows the person a page, whatever comes. Errors: deadline_exceeded.
  Result<Callback> wait(std::chrono::seconds limit);

 private:
  std::vector<Fd> sockets_;
};

}  // namespace drover::cli
