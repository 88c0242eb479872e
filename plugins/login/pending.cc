#include "pending.h"

#include <algorithm>

#include "drover/secret.h"
#include "drover/sha256.h"

namespace drover::login {

void PendingLogins::forget_old() {
  const SteadyTime now = clock_.steady();
  std::erase_if(logins_, [&](const auto& entry) { return now - entry.second.begun >= kLife; });
}

Status PendingLogins::add(const std::string& state, PendingLogin login) {
  login.begun = clock_.steady();
  const MutexLock lock(mutex_);
  forget_old();
  const auto own =
      std::ranges::count_if(logins_, [&](const auto& entry) { return entry.second.address == login.address; });
  if (logins_.size() >= kMost || static_cast<size_t>(own) >= kMostOfOne)
    return resource_exhausted("too many logins are on their way; try again later");
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
