#include "token/token_life.h"

#include <algorithm>

namespace drover::vault {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kShortestHold = 1s;  // between two questions
constexpr nanoseconds kJitter = 10s;
constexpr nanoseconds kShortLease = 60s;  // has no jitter
constexpr nanoseconds kFirstRetry = 5s;
constexpr nanoseconds kLongestLoginPause = 3min, kLongestRenewalPause = 1min;

// first × factor^failures, at most `longest`.
nanoseconds pause_after(int failures, int factor, nanoseconds longest) {
  nanoseconds pause = kFirstRetry;
  for (int i = 0; i < failures && pause < longest; ++i) pause *= factor;
  return std::min(pause, longest);
}

nanoseconds half_of(const Lease& lease, double chance) {
  nanoseconds half = lease.duration / 2;
  if (lease.duration >= kShortLease)
    half += nanoseconds(static_cast<int64_t>((2 * chance - 1) * static_cast<double>(kJitter.count())));
  return std::max(half, kShortestHold);
}

}  // namespace

bool is_lasting(const Status& failure) {
  const Code code = failure.code();
  return code == Code::invalid_argument || code == Code::permission_denied || code == Code::not_found ||
         code == Code::failed_precondition;
}

bool has_ended(const Status& failure) {
  if (is_lasting(failure)) return true;
  // Older versions of Vault say so with the status of a fault of their own.
  const std::string& text = failure.message();
  return std::ranges::any_of(std::initializer_list<const char*>{"lease not found", "lease is not renewable",
                                                                "token not found", "permission denied"},
                             [&](const char* each) { return text.find(each) != std::string::npos; });
}

TokenLife::Next TokenLife::hold(const Lease& lease, int64_t now, double chance) {
  logins_ = renewals_ = 0;
  ends_at_ = lease.duration == 0ns ? 0 : now + lease.duration.count();
  first_lease_ = std::max(first_lease_, lease.duration);
  if (lease.duration == 0ns || may_expire_) return {};
  return {lease.is_renewable ? Step::renew : Step::obtain, half_of(lease, chance)};
}

TokenLife::Next TokenLife::obtained(const Lease& lease, int64_t now, double chance) {
  first_lease_ = 0ns;
  return hold(lease, now, chance);
}

TokenLife::Next TokenLife::not_obtained(const Status& failure) {
  if (is_lasting(failure)) return {Step::give_up, 0ns};
  return {Step::obtain, pause_after(logins_++, 4, kLongestLoginPause)};
}

TokenLife::Next TokenLife::renewed(const Lease& lease, int64_t now, double chance) { return hold(lease, now, chance); }

TokenLife::Next TokenLife::not_renewed(const Status& failure, int64_t now) {
  if (has_ended(failure) || (ends_at_ > 0 && now >= ends_at_)) {
    renewals_ = 0;
    return {Step::obtain, 0ns};
  }
  nanoseconds pause = pause_after(renewals_++, 2, kLongestRenewalPause);
  if (ends_at_ > 0) pause = std::min(pause, nanoseconds(ends_at_ - now));
  return {Step::renew, std::max(pause, kShortestHold)};
}

TokenLife::Next TokenLife::found_again(const Lease& lease, int64_t granted_at, int64_t now) {
  ends_at_ = lease.duration == 0ns ? 0 : granted_at + lease.duration.count();
  first_lease_ = lease.duration;
  if (lease.duration == 0ns || may_expire_) return {};
  if (lease.is_renewable) return {Step::renew, 0ns};
  return {Step::obtain, std::max<nanoseconds>(nanoseconds((ends_at_ - now) / 2), 0ns)};
}

}  // namespace drover::vault
