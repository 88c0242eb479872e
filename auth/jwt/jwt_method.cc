#include "jwt_method.h"

#include <algorithm>

#include "drover/auth_config.h"
#include "drover/v1/auth_method.pb.h"

namespace drover::jwt {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

Status refused(const std::string& why) { return auth::refused("unable to verify signature of JWT token: " + why); }

// "iss" is checked after the rest, and only where the Config names some.
Status check_issuer(const jose::Claims& claims, const Config& config) {
  if (config.bound_issuers.empty()) return ok_status();
  if (!claims.has("iss")) return auth::refused("invalid JWT issuer: the token has no issuer (iss) claim");
  const auto issuer = claims.text("iss");
  if (!issuer) return auth::refused("invalid JWT issuer: the issuer (iss) claim is no text");
  if (std::ranges::find(config.bound_issuers, *issuer) == config.bound_issuers.end())
    return auth::refused("invalid JWT issuer: it is not one of BoundIssuer");
  return ok_status();
}

Status check_audience(const jose::Claims& claims, const Config& config) {
  if (config.bound_audiences.empty()) return ok_status();
  const std::vector<std::string> audiences = claims.audiences();
  const bool is_meant = std::ranges::find_first_of(config.bound_audiences, audiences) != config.bound_audiences.end();
  return is_meant ? ok_status() : invalid_argument("audience claim does not match any expected audience");
}

}  // namespace

Status check_token(const jose::Token& token, const Config& config, int64_t now) {
  if (std::ranges::find(config.algorithms, token.algorithm) == config.algorithms.end())
    return invalid_argument("token signed with unexpected algorithm");
  DROVER_TRY(const jose::TokenTimes times, jose::times_of(token.claims, config.times));
  DROVER_RETURN_IF_ERROR(check_audience(token.claims, config));
  return jose::check_times(times, config.times, now);
}

Result<std::vector<v1::AuthConfigError>> JwtMethod::check_config(std::string_view config) {
  return read_config(config).errors;
}

Result<provider::Providers::Keys> JwtMethod::keys_for(const jose::Token& token, const Config& config,
                                                      std::stop_token stop) {
  if (!config.keys.empty()) return std::make_shared<const std::vector<jose::Key>>(config.keys);
  if (!config.jwks_url.empty()) return providers_.keys_for(token, config.jwks_url, config.jwks_ca, stop);
  DROVER_TRY(const auto description, providers_.describe(config.issuer, config.issuer_ca, stop));
  return providers_.keys_for(token, description.jwks_uri, config.issuer_ca, stop);
}

Result<v1::AuthIdentity> JwtMethod::login(const v1::AuthLoginRequest& request, std::stop_token stop) {
  const auto [config, errors] = read_config(request.config());
  if (!errors.empty()) return invalid_argument(auth::text_of(errors));
  const auto token = jose::parse_token(request.token());
  if (!token) return refused(token.status().message());
  DROVER_TRY(const auto keys, keys_for(*token, config, stop));
  if (!jose::is_signed(*token, *keys)) return refused("no known key successfully validated the token signature");
  const Status good = check_token(*token, config, clock_.wall_ns() / kSecond);
  if (!good.ok()) return refused(good.message());
  const jose::Claims& claims = token->claims;
  DROVER_RETURN_IF_ERROR(check_issuer(claims, config));
  const auto subject = claims.text("sub");
  v1::AuthIdentity identity;
  identity.set_subject(subject && !subject->empty() ? *subject : "a token without a subject");
  if (const Status mapped = jose::map_claims(claims, config.mappings, identity); !mapped.ok())
    return auth::refused(mapped.message());
  return identity;
}

}  // namespace drover::jwt
