// The engine behind a Unix socket: Docker's, or Podman's in the same language. Calls in the version of the API that
// both sides know, with errors as statuses whose text is the engine's own.
//
//   400 invalid_argument     401, 403 permission_denied   404 not_found    409 failed_precondition   501 unimplemented
//   other ones internal      no engine, a cut answer unavailable           too late deadline_exceeded
//
// [any]
#pragma once

#include <string>
#include <string_view>

#include "drover/mutex.h"
#include "engine/exchange.h"

namespace drover::docker {

// Where the engine listens, from a `unix://` address or a path. Errors: invalid_argument for any other address.
Result<std::string> socket_of(const std::string& endpoint);

// "%2F" for "/" and the like, for a part of a target.
std::string percent_encode(std::string_view text);
// ?a=b&c=d, without those that have no value.
std::string query(std::initializer_list<std::pair<std::string_view, std::string>> values);

// The meaning of a bad status of an answer. `body` is its content. Pure.
Status error_of(int status, std::string_view body);
// The version to speak with an engine that offers this one, "v1.41"; empty: it says none. Pure.
std::string version_for(std::string_view offered);

class Engine {
 public:
  static constexpr std::chrono::minutes kCallTime{5};
  static constexpr size_t kAnswerLimit = 64 << 20;

  explicit Engine(std::string socket) : socket_(std::move(socket)) {}
  const std::string& socket() const { return socket_; }

  // The whole answer.
  Result<std::string> call(const Request& request, const Patience& patience);
  Result<std::string> call(const Request& request) { return call(request, Patience::of(kCallTime)); }
  // The begun one. Its status is a good one: 2xx or 101.
  Result<std::unique_ptr<Exchange>> open(Request request, const Patience& patience);

 private:
  Result<std::string> version(const Patience& patience);

  const std::string socket_;
  Mutex mutex_;
  std::string version_ DROVER_GUARDED_BY(mutex_);  // empty: nobody has asked
};

}  // namespace drover::docker
