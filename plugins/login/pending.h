// Logins that are on their way through a browser. They lie in this server's memory alone, for ten minutes at most, so
// that nothing of them is written anywhere: after a change of the leading server a person begins anew.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/result.h"

namespace drover::login {

struct PendingLogin {
  std::string method;
  uint64_t method_index = 0;  // the method's row as it was at the beginning
  std::string redirect_uri;
  std::string client_nonce;
  std::string kept;     // secret
  std::string address;  // who asked
  SteadyTime begun{};
};

// [any]
class PendingLogins {
 public:
  static constexpr size_t kMost = 1000;
  static constexpr size_t kMostOfOne = 250;  // of one address: nobody fills the room of all
  static constexpr std::chrono::minutes kLife{10};

  explicit PendingLogins(const Clock& clock) : clock_(clock) {}

  // Errors: resource_exhausted.
  Status add(const std::string& state, PendingLogin login);
  // Takes the login of that state out, whether the rest fits or not: a state is good once. Nothing: there is none of
  // that state, or it is another client's (nonce), method's or redirect's.
  std::optional<PendingLogin> take(const std::string& state, std::string_view method, std::string_view client_nonce,
                                   std::string_view redirect_uri);

 private:
  void forget_old() DROVER_REQUIRES(mutex_);

  const Clock& clock_;
  Mutex mutex_;
  // By the SHA-256 of the state: how long a look takes tells nothing of it.
  std::map<std::string, PendingLogin> logins_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::login
