#include "workload_tokens.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "drover/base64url.h"
#include "drover/model/allocation.h"
#include "drover/sha256.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"

namespace drover::acl {
namespace {

using Json = nlohmann::json;

constexpr size_t kLongestToken = 16 << 10;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kClockSkew = 5 * kSecond;  // between the servers

std::string text_in(const Json& claims, const char* name) {
  const auto at = claims.find(name);
  return at != claims.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// Nanoseconds; 0 where there is no such time.
int64_t time_in(const Json& claims, const char* name) {
  const auto at = claims.find(name);
  if (at == claims.end() || !at->is_number_integer()) return 0;
  return std::clamp<int64_t>(at->get<int64_t>(), 0, INT64_MAX / kSecond) * kSecond;
}

// Sixteen bytes; empty where the header names no key. Requires: a token that was verified.
std::string key_of(const std::string& token) {
  const auto header = base64url_decode(std::string_view(token).substr(0, token.find('.')));
  const Json said = header ? Json::parse(*header, nullptr, /*allow_exceptions=*/false) : Json();
  const auto id = said.is_object() ? Uuid::parse(text_in(said, "kid")) : std::nullopt;
  return id ? id->bytes() : std::string();
}

bool is_for_us(const Json& claims) {
  const auto at = claims.find("aud");
  if (at == claims.end()) return false;
  const auto is_own = [](const Json& one) { return one.is_string() && one.get<std::string>() == kOwnAudience; };
  return at->is_array() ? std::ranges::any_of(*at, is_own) : is_own(*at);
}

}  // namespace

Result<WorkloadTokens::Claims> WorkloadTokens::verified(const std::string& token) {
  const std::string digest = sha256(token);
  {
    const MutexLock lock(mutex_);
    if (const Claims* known = known_.find(digest)) return *known;
  }
  if (!keys_) return permission_denied("this server has no keyring");
  if (token.size() > kLongestToken) return permission_denied("token refused: it is too long");
  DROVER_TRY(const std::string text, keys_->verify(token));
  const Json said = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!is_for_us(said)) return permission_denied("token refused: it is for another audience");
  const auto allocation = Uuid::parse(text_in(said, "nomad_allocation_id"));
  Claims claims{.allocation = allocation ? allocation->bytes() : "",
                .task = text_in(said, "nomad_task"),
                .key_id = key_of(token),
                .begins_at = time_in(said, "nbf"),
                .ends_at = time_in(said, "exp")};
  if (claims.allocation.empty() || claims.task.empty()) return permission_denied("token refused: it names no task");
  const MutexLock lock(mutex_);
  known_.put(digest, claims);
  return claims;
}

Result<WorkloadTokens::Shown> WorkloadTokens::read(const std::string& token, const ReadView& view, int64_t now_ns) {
  DROVER_TRY(Claims claims, verified(token));
  if (claims.begins_at > now_ns + kClockSkew) return permission_denied("token refused: it is not valid yet");
  if (claims.ends_at > 0 && now_ns >= claims.ends_at) return permission_denied("token refused: it has ended");
  // The keyring is asked once for each token, so the key may have been removed since.
  if (!tables_.root_keys || !view.get(*tables_.root_keys, claims.key_id))
    return permission_denied("no such key in keyring");
  if (!tables_.allocs || !tables_.jobs) return permission_denied("allocation does not exist");
  const auto allocation = Table<v1::Allocation>(*tables_.allocs).get(view, claims.allocation);
  if (!allocation) return permission_denied("allocation does not exist");
  if (terminal(*allocation)) return permission_denied("allocation is terminal");
  return Shown{.allocation = Uuid::from_bytes(claims.allocation).to_string(),
               .workload = workload_of(view, *tables_.jobs, *allocation, std::move(claims.task)),
               .ends_at = claims.ends_at};
}

}  // namespace drover::acl
