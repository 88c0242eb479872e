#include "pending.h"

#include <algorithm>

#include "drover/secret.h"
#include "drover/sha256.h"
#include "drover/subnet.h"

namespace drover::login {
namespace {

// "[::1]:4711", or as gRPC names it: "ipv6:%5B::1%5D:4711".
std::string host_of(std::string_view address) {
  std::string text(address);
  if (text.starts_with("ipv4:") || text.starts_with("ipv6:")) text.erase(0, 5);
  for (const auto& [escape, sign] : {std::pair("%5B", "["), std::pair("%5D", "]")}) {
    if (const size_t at = text.find(escape); at != std::string::npos) text.replace(at, 3, sign);
  }
  if (text.starts_with('[')) text = text.substr(1, text.find(']') - 1);
  if (std::ranges::count(text, ':') == 1) text.erase(text.find(':'));
  if (text.starts_with("::ffff:") && text.find('.') != std::string::npos) text.erase(0, 7);
  return text.substr(0, text.find('%'));  // without the interface: "fe80::1%eth0"
}

}  // namespace

std::string network_of(std::string_view address) {
  std::string host = host_of(address);
  const auto network = parse_subnet(host + "/64");  // an error for an IPv4 address, which has 32 bits
  return network ? to_string(*network) : host;
}

void PendingLogins::forget_old() {
  const SteadyTime now = clock_.steady();
  std::erase_if(logins_, [&](const auto& entry) { return now - entry.second.begun >= kLife; });
}

void PendingLogins::make_room() {
  std::map<std::string_view, size_t> counts;
  size_t most = 0;
  for (const auto& [state, login] : logins_) most = std::max(most, ++counts[login.address]);
  auto oldest = logins_.end();
  for (auto at = logins_.begin(); at != logins_.end(); ++at) {
    if (counts[at->second.address] < most) continue;
    if (oldest == logins_.end() || at->second.begun < oldest->second.begun) oldest = at;
  }
  if (oldest != logins_.end()) logins_.erase(oldest);
}

Status PendingLogins::add(const std::string& state, PendingLogin login) {
  login.begun = clock_.steady();
  login.address = network_of(login.address);
  const MutexLock lock(mutex_);
  forget_old();
  const auto own =
      std::ranges::count_if(logins_, [&](const auto& entry) { return entry.second.address == login.address; });
  if (static_cast<size_t>(own) >= kMostOfOne)
    return resource_exhausted("too many logins are on their way; try again later");
  if (logins_.size() >= kMost) make_room();
  logins_.insert_or_assign(sha256(state), std::move(login));
  return ok_status();
}

std::optional<PendingLogin> PendingLogins::take(const std::string& state, std::string_view method,
                                                std::string_view client_nonce, std::string_view redirect_uri) {
  const MutexLock lock(mutex_);
  forget_old();
  auto node = logins_.extract(sha256(state));
  if (node.empty()) return std::nullopt;
  PendingLogin& login = node.mapped();
  const bool is_it =
      is_same_secret(login.client_nonce, client_nonce) && login.method == method && login.redirect_uri == redirect_uri;
  return is_it ? std::optional(std::move(login)) : std::nullopt;
}

}  // namespace drover::login
