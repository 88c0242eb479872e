// Finds out on a client agent who calls, by asking a server with the caller's own proof. Answers are trusted for a
// while; while no server answers, for a day at most and never beyond the token's end. The newest callers are
// remembered. Whoever answers a call that this agent only passes on judges its caller. [any]
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "drover/access_control.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "resolved.h"

namespace drover::v1 {
class WhoAmIResponse;
}

namespace drover::acl {

// How long a server's word is good, by what it is about: the options of that name. Zero: it is asked each time.
struct TrustedFor {
  std::chrono::nanoseconds token = std::chrono::seconds(30);
  std::chrono::nanoseconds policy = std::chrono::seconds(30);
  std::chrono::nanoseconds role = std::chrono::seconds(30);
};

// One answer holds all of a caller: it is good as long as the shortest-lived thing that it rests on. Pure.
std::chrono::nanoseconds trusted_for(const Identity& caller, const TrustedFor& times);

class ClientResolver {
 public:
  static constexpr size_t kMostCallers = 512;
  static constexpr std::chrono::hours kGrace{24};  // without servers

  void start(Host& host, const TrustedFor& trusted);

  // `done` runs at once when the answer is known, else on a thread of the router.
  void resolve(const CallContext& context, std::function<void(Result<Identity>)> done);

 private:
  struct Known {
    Resolved resolved;
    SteadyTime asked_at;
  };
  Result<Identity> answered(const std::string& key, const Result<Reply>& reply);
  bool is_usable(const Known& known, std::chrono::nanoseconds age) const;

  Host* host_ = nullptr;
  TrustedFor trusted_;
  std::set<std::string, std::less<>> own_methods_;
  Mutex mutex_;
  Recent<Known> known_ DROVER_GUARDED_BY(mutex_){kMostCallers};
};

// The caller as a server describes it. Errors: those of policies that cannot be read.
Result<Resolved> resolved_from(const v1::WhoAmIResponse& answer);

}  // namespace drover::acl
