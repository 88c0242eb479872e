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

// The value of "state" in the URL's query, which the browser brings back; empty: there is none. Pure.
std::string state_of(std::string_view url);

class CallbackServer {
 public:
  // "localhost:4649": every address that the name has and this machine, too. Errors: invalid_argument, or those of
  // listening, also when one of the addresses is in use: a browser might go to the other program.
  static Result<CallbackServer> open(const std::string& address);

  // Shows the person a page, whatever comes, and passes over callbacks with another state: they are of another login,
  // or of a page that made them up. An empty state fits all. Errors: deadline_exceeded.
  Result<Callback> wait(std::chrono::seconds limit, const std::string& state);

 private:
  std::vector<Fd> sockets_;
};

}  // namespace drover::cli
