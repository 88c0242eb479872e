#include "server/claims.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "drover/v1/task.pb.h"

namespace drover::identity {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kSecond = 1'000'000'000;

// One audience is a text, several are a list: readers that know a single one only are many.
Json audience_of(const v1::Identity& identity) {
  if (identity.audience_size() == 1) return identity.audience(0);
  return Json(std::vector<std::string>(identity.audience().begin(), identity.audience().end()));
}

}  // namespace

int64_t end_of(const v1::Identity& identity, int64_t now_ns) {
  return identity.ttl() > 0 ? (now_ns / kSecond) * kSecond + identity.ttl() : 0;
}

std::string claims_of(const ClaimsInput& input) {
  const Workload& who = input.workload;
  const int64_t now = input.now_ns / kSecond;
  Json claims = {{"nomad_namespace", who.name_space},
                 {"nomad_job_id", who.job},
                 {"nomad_allocation_id", input.allocation},
                 {"nomad_task", who.task},
                 {"sub", input.region + ":" + who.name_space + ":" + who.job + ":" + who.group + ":" + who.task + ":" +
                             input.identity.name()},
                 {"jti", input.token_id},
                 {"iat", now},
                 {"nbf", now}};
  if (input.identity.audience_size() > 0) claims["aud"] = audience_of(input.identity);
  if (const int64_t end = end_of(input.identity, input.now_ns); end > 0) claims["exp"] = end / kSecond;
  if (!input.issuer.empty()) claims["iss"] = input.issuer;
  return claims.dump();
}

Result<v1::Identity> identity_of(const v1::Task& task, const std::string& name) {
  if (name == kDefaultIdentity) {
    v1::Identity own = task.identity();
    own.set_name(name);
    if (own.audience().empty()) own.add_audience(std::string(kOwnAudience));
    return own;
  }
  const auto at = std::ranges::find(task.identities(), name, [](const auto& each) { return each.name(); });
  if (at == task.identities().end()) return not_found("identity not found");
  return *at;
}

Keyring::Algorithm algorithm_of(const v1::Identity& identity) {
  return identity.name() == kDefaultIdentity ? Keyring::Algorithm::eddsa : Keyring::Algorithm::rs256;
}

std::string discovery_of(const std::string& issuer) {
  return Json{{"issuer", issuer},
              {"jwks_uri", issuer + "/.well-known/jwks.json"},
              {"id_token_signing_alg_values_supported", {"RS256", "EdDSA"}},
              {"response_types_supported", {"code"}},
              {"subject_types_supported", {"public"}}}
      .dump();
}

}  // namespace drover::identity
