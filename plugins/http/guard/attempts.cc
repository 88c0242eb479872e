#include "attempts.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace drover::api {
namespace {

constexpr std::chrono::nanoseconds kMinute = std::chrono::minutes(1);
constexpr unsigned kFailedTokens = 300;
constexpr std::string_view kFailed = "failed tokens";
constexpr size_t kMaxBuckets = 10'000;
constexpr size_t kNetworkBytes = 8;  // of an IPv6 address

struct Rule {
  std::string_view path;
  unsigned a_minute;
};

// Paths of the public API, and not names of methods: they stay, whoever answers there.
constexpr Rule kRules[] = {
    {"/v1/acl/bootstrap", 5},      {"/v1/acl/token/onetime/exchange", 30}, {"/v1/acl/login", 30},
    {"/v1/acl/oidc/auth-url", 30}, {"/v1/acl/oidc/complete-auth", 30},
};

std::chrono::seconds rounded_up(std::chrono::nanoseconds time) { return std::chrono::ceil<std::chrono::seconds>(time); }

std::string address_text(int family, const uint8_t* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(family, bytes, text.data(), static_cast<socklen_t>(text.size())) ? text.data() : "";
}

}  // namespace

std::string place_of(const std::string& address) {
  in6_addr ip{};
  // Without the zone, which stands behind a '%'.
  if (::inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), &ip) != 1) return address;
  std::array<uint8_t, sizeof(ip.s6_addr)> bytes{};
  std::ranges::copy(ip.s6_addr, bytes.begin());
  if (IN6_IS_ADDR_V4MAPPED(&ip)) return address_text(AF_INET, bytes.data() + bytes.size() - sizeof(in_addr));
  std::fill(bytes.begin() + kNetworkBytes, bytes.end(), uint8_t{0});
  return address_text(AF_INET6, bytes.data()) + "/64";
}

Status too_many_attempts() { return resource_exhausted("too many attempts from this address; wait for some seconds"); }

bool Bucket::take(SteadyTime now) {
  if (wait(now) > std::chrono::nanoseconds::zero()) return false;
  full_at_ = std::max(full_at_, now) + one_;
  return true;
}

std::chrono::nanoseconds Bucket::wait(SteadyTime now) const {
  return std::max(std::max(full_at_, now) + one_ - now - refill_, std::chrono::nanoseconds::zero());
}

Bucket& Attempts::bucket_locked(std::string_view address, std::string_view what, unsigned a_minute, SteadyTime now) {
  const auto key = std::pair(std::string(address), what);
  if (const auto at = buckets_.find(key); at != buckets_.end()) return at->second;
  if (buckets_.size() >= kMaxBuckets)
    std::erase_if(buckets_, [now](const auto& each) { return each.second.is_full(now); });
  // The one that matters least goes: with many addresses nobody wipes out what is counted of one.
  if (buckets_.size() >= kMaxBuckets)
    buckets_.erase(std::ranges::min_element(buckets_, {}, [](const auto& each) { return each.second.full_at(); }));
  return buckets_.try_emplace(key, a_minute, kMinute).first->second;
}

std::optional<std::chrono::seconds> Attempts::refusal(std::string_view address, std::string_view path, bool has_token,
                                                      SteadyTime now) {
  if (!is_on_) return std::nullopt;
  const auto rule = std::ranges::find(kRules, path, &Rule::path);
  const MutexLock lock(mutex_);
  if (has_token) {
    const auto failures = buckets_.find(std::pair(std::string(address), kFailed));
    if (failures != buckets_.end() && failures->second.wait(now) > kMinute.zero())
      return rounded_up(failures->second.wait(now));
  }
  if (rule == std::end(kRules)) return std::nullopt;
  Bucket& bucket = bucket_locked(address, rule->path, rule->a_minute, now);
  if (bucket.take(now)) return std::nullopt;
  return rounded_up(bucket.wait(now));
}

void Attempts::failed(std::string_view address, SteadyTime now) {
  if (!is_on_) return;
  const MutexLock lock(mutex_);
  bucket_locked(address, kFailed, kFailedTokens, now).take(now);
}

size_t Attempts::size() const {
  const MutexLock lock(mutex_);
  return buckets_.size();
}

}  // namespace drover::api
