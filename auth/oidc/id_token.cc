#include "id_token.h"

#include <algorithm>

#include "drover/auth_method.h"
#include "drover/secret.h"

namespace drover::oidc {
namespace {

constexpr int64_t kClockSkew = 60;  // seconds

bool holds(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

// Null: it is meant for this client.
const char* audience_problem(const jose::Claims& claims, const Config& config) {
  const std::vector<std::string> audiences = claims.audiences();
  if (audiences.empty()) return "it has no audience (aud)";
  const std::vector<std::string>& bound = config.bound_audiences;
  if (bound.empty() && !holds(audiences, config.client_id)) return "it is meant for another client";
  if (!bound.empty() && std::ranges::find_first_of(bound, audiences) == bound.end())
    return "its audience is none of BoundAudiences";
  const auto party = claims.text("azp");
  if (audiences.size() > 1 && (!holds(audiences, config.client_id) || party != config.client_id))
    return "it has several audiences and is not issued to this client";
  if (claims.has("azp") && party != config.client_id) return "it is issued to another client (azp)";
  return nullptr;
}

const char* time_problem(const jose::Claims& claims, int64_t now) {
  const auto expires = claims.time("exp"), issued = claims.time("iat"), not_before = claims.time("nbf");
  if (!expires || !issued || !not_before) return "it has a time that is none";
  if (!*expires) return "it has no expiration time (exp)";
  if (now >= **expires) return "it is expired";
  if (!*issued) return "it has no time of issue (iat)";
  if (**issued > now + kClockSkew) return "it is issued in the future";
  if (*not_before && **not_before > now + kClockSkew) return "it is not valid yet";
  return nullptr;
}

// The hash may be absent, not wrong.
bool hash_fits(const jose::Claims& claims, const char* name, jose::Algorithm algorithm, std::string_view text) {
  return !claims.has(name) || claims.text(name) == jose::half_hash(algorithm, text);
}

const char* problem_of(const jose::Token& token, const Config& config, const Expected& expected) {
  const jose::Claims& claims = token.claims;
  if (std::ranges::find(config.algorithms, token.algorithm) == config.algorithms.end())
    return "it is signed with an algorithm that is none of SigningAlgs";
  if (claims.text("iss") != config.issuer) return "it is from another issuer";
  if (claims.text("sub").value_or("").empty()) return "it has no subject (sub)";
  if (!is_same_secret(claims.text("nonce").value_or(""), expected.nonce)) return "it belongs to another login (nonce)";
  if (const char* problem = time_problem(claims, expected.now)) return problem;
  if (const char* problem = audience_problem(claims, config)) return problem;
  if (!hash_fits(claims, "at_hash", token.algorithm, expected.access_token))
    return "it belongs to another access token (at_hash)";
  if (!hash_fits(claims, "c_hash", token.algorithm, expected.code)) return "it belongs to another code (c_hash)";
  return nullptr;
}

}  // namespace

Status check_id_token(const jose::Token& token, const Config& config, const Expected& expected) {
  const char* const problem = problem_of(token, config, expected);
  return problem ? auth::refused(std::string("the ID token is refused: ") + problem) : ok_status();
}

}  // namespace drover::oidc
