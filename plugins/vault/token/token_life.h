// The life of one task's token: when it is renewed, when another one takes its place, and when nothing helps.
//
//   ┌─────────── not obtained: again, ever later ◀──┐
//   ▼                                                │
//   obtain ──obtained──▶ held ──half of the lease──▶ renew ──renewed──▶ held …
//   ▲                                                │
//   └── Vault knows it no more, or its lease ended ──┤
//                        not renewed: again ◀────────┘
//
//   obtain ──refused for good──▶ give up
//
// Pure: times are nanoseconds since 1970, as the caller reads them, and chance is a number of the caller's. What is
// decided is said to it as one Next; the caller carries it out and tells what came of it. One thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "client/vault_client.h"
#include "drover/result.h"

namespace drover::vault {

// True for a failure that would come again: a refusal, and not a Vault that is away.
bool is_lasting(const Status& failure);
// True for a failed renewal that no later one follows: the token is gone, or is not renewable.
bool has_ended(const Status& failure);

class TokenLife {
 public:
  enum class Step : uint8_t {
    nothing,  // the token lasts, or may end
    obtain,   // log in
    renew,
    give_up,  // the task cannot have a token
  };
  struct Next {
    Step step = Step::nothing;
    std::chrono::nanoseconds after{};
  };

  // `may_expire`: the token is not renewed and no other takes its place.
  explicit TokenLife(bool may_expire) : may_expire_(may_expire) {}

  // `chance`: 0 to 1, spreads renewals that would come together.
  Next obtained(const Lease& lease, int64_t now, double chance);
  Next not_obtained(const Status& failure);
  // The same token with what is left of its lease.
  Next renewed(const Lease& lease, int64_t now, double chance);
  Next not_renewed(const Status& failure, int64_t now);
  // A token that an agent before this one kept: it is renewed at once, so that its lease is known.
  Next found_again(const Lease& lease, int64_t granted_at, int64_t now);

  // Nanoseconds since 1970; 0: it does not end.
  int64_t ends_at() const { return ends_at_; }
  // The longest lease that this token had: what its renewals ask for.
  std::chrono::nanoseconds first_lease() const { return first_lease_; }

 private:
  Next hold(const Lease& lease, int64_t now, double chance);

  const bool may_expire_;
  int logins_ = 0, renewals_ = 0;  // that failed, one after the other
  int64_t ends_at_ = 0;
  std::chrono::nanoseconds first_lease_{};
};

}  // namespace drover::vault
