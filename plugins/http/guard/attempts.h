// Limits of attempts: an address may guess secrets, and ask for new ones, only so often. Token buckets, refilled
// evenly; the time comes from outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/result.h"

namespace drover::api {

// A number of tries that are there at once, and come back evenly. Not thread-safe.
class Bucket {
 public:
  // `refill`: how long an empty one takes to fill. Requires: size > 0.
  Bucket(unsigned size, std::chrono::nanoseconds refill) : refill_(refill), one_(refill / size) {}

  bool take(SteadyTime now);
  // The time until there is one; zero when there is.
  std::chrono::nanoseconds wait(SteadyTime now) const;
  bool is_full(SteadyTime now) const { return full_at() <= now; }
  // In the past for one that is full.
  SteadyTime full_at() const { return full_at_; }

 private:
  std::chrono::nanoseconds refill_;
  std::chrono::nanoseconds one_;  // until one has come back
  SteadyTime full_at_{};          // each try puts it off; it is never further away than a whole filling
};

// The key under which an address is counted: IPv4 as it is, also where it is mapped into IPv6; of IPv6 the first 64
// bits, since one machine may have all addresses behind them. Any other text as it is. Pure.
std::string place_of(const std::string& address);

// The error of an address that must wait.
Status too_many_attempts();

// Per address and minute: logins 30, one-time tokens 30, bootstraps 5, and 300 tokens that turned out to be none. An
// address that has used up the latter is refused with any token until some come back. Thread-safe.
class Attempts {
 public:
  // `is_on`: false counts nothing and refuses nobody.
  explicit Attempts(bool is_on = true) : is_on_(is_on) {}
  // Counts a request for the path ("/v1/acl/bootstrap", without query). The answer is how long the address must wait
  // instead.
  std::optional<std::chrono::seconds> refusal(std::string_view address, std::string_view path, bool has_token,
                                              SteadyTime now);
  // A token turned out to be none.
  void failed(std::string_view address, SteadyTime now);
  size_t size() const;

 private:
  Bucket& bucket_locked(std::string_view address, std::string_view what, unsigned a_minute, SteadyTime now)
      DROVER_REQUIRES(mutex_);

  const bool is_on_;
  mutable Mutex mutex_;
  // By address and what is counted. One that is full again says nothing, and goes; at 10,000 the fullest makes room.
  std::map<std::pair<std::string, std::string_view>, Bucket, std::less<>> buckets_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::api
