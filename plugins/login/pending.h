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
  std::string address;  // of the caller
  SteadyTime begun{};
};

// The part of a caller's address that it cannot choose at will: "10.0.0.1", without its port; of IPv6 the network,
// "2001:db8::/64", since one machine has all of that. Another text stays as it is. Pure.
std::string network_of(std::string_view address);

// Bounded: where there is no more room, the oldest login of the network that has the most makes some. So nobody keeps
// others out, whatever many addresses they have. [any]
class PendingLogins {
 public:
  static constexpr size_t kMost = 1000;
  static constexpr size_t kMostOfOne = 250;  // of one network
  static constexpr std::chrono::minutes kLife{10};

  explicit PendingLogins(const Clock& clock) : clock_(clock) {}

  // Errors: resource_exhausted, when its network has too many.
  Status add(const std::string& state, PendingLogin login);
  // Takes the login of that state out, whether the rest fits or not: a state is good once. Nothing: there is none of
  // that state, or it is another client's (nonce), method's or redirect's.
  std::optional<PendingLogin> take(const std::string& state, std::string_view method, std::string_view client_nonce,
                                   std::string_view redirect_uri);

 private:
  void forget_old() DROVER_REQUIRES(mutex_);
  void make_room() DROVER_REQUIRES(mutex_);

  const Clock& clock_;
  Mutex mutex_;
  // By the SHA-256 of the state: how long a look takes tells nothing of it.
  std::map<std::string, PendingLogin> logins_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::login
