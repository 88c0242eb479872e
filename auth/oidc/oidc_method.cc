#include "oidc_method.h"

#include "drover/auth_config.h"
#include "drover/base64url.h"
#include "drover/http_client.h"
#include "drover/secret.h"
#include "drover/sha256.h"
#include "drover/v1/auth_method.pb.h"
#include "id_token.h"

namespace drover::oidc {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kVerifierBytes = 32;
constexpr size_t kTokenIdBytes = 16;
// A login keeps this and the verifier of PKCE; without PKCE it stands alone.
constexpr std::string_view kKept = "oidc-1:";

Status no_provider(const Status& why) {
  if (why.code() == Code::cancelled) return why;
  return internal_error("failed to generate OIDC provider: " + why.message());
}
Status no_exchange(const std::string& why) { return internal_error("failed to exchange token with provider: " + why); }

// The Config for a login that comes back at that redirect. Errors: invalid_argument.
Result<Config> config_for(const std::string& json, const std::string& redirect) {
  auto [config, errors] = read_config(json);
  if (!errors.empty()) return invalid_argument(auth::text_of(errors));
  if (!may_return_to(config, redirect))
    return invalid_argument("unauthorized redirect_uri: it is none of AllowedRedirectURIs");
  return std::move(config);
}

// The verifier, empty without PKCE. Errors: unauthenticated, for what no login here has kept.
Result<std::string> verifier_of(std::string_view kept, const Config& config) {
  const Status other = auth::refused("the login was not begun here");
  if (!kept.starts_with(kKept)) return other;
  const std::string verifier(kept.substr(kKept.size()));
  if (verifier.empty() && !config.proves_itself) return verifier;
  const auto bytes = base64url_decode(verifier);
  if (!bytes || bytes->size() != kVerifierBytes) return other;
  return verifier;
}

std::string auth_url(const v1::StartAuthLoginRequest& request, const Config& config,
                     const provider::Description& described, const std::string& verifier) {
  std::string scope;
  for (const std::string& each : config.scopes) scope += (scope.empty() ? "" : " ") + each;
  std::vector<std::pair<std::string, std::string>> query = {{"client_id", config.client_id},
                                                            {"nonce", request.client_nonce()},
                                                            {"redirect_uri", request.redirect_uri()},
                                                            {"response_type", "code"},
                                                            {"scope", scope},
                                                            {"state", request.state()}};
  if (!verifier.empty()) {
    query.emplace_back("code_challenge", base64url(sha256(verifier)));
    query.emplace_back("code_challenge_method", "S256");
  }
  std::string url = described.authorization_endpoint;
  char divider = url.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [name, value] : query) {
    url += divider + name + "=" + http_client::encoded(value);
    divider = '&';
  }
  return url;
}

// The words of RFC 6749 §5.2, which hold nothing of the request; empty for others.
std::string known_error(const jose::Claims& answer) {
  const std::string said = answer.text("error").value_or("");
  for (const char* known : {"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client",
                            "unsupported_grant_type", "invalid_scope"}) {
    if (said == known) return said;
  }
  return {};
}

// `now`: seconds since 1970. Errors: as client_assertion.
Result<provider::Question> token_question(const v1::CompleteAuthLoginRequest& request, const Config& config,
                                          const provider::Description& described, const std::string& verifier,
                                          int64_t now) {
  using http_client::encoded;
  provider::Question question{.url = described.token_endpoint, .ca = config.ca};
  question.form = "grant_type=authorization_code&code=" + encoded(request.code()) +
                  "&redirect_uri=" + encoded(request.redirect_uri());
  if (!verifier.empty()) question.form += "&code_verifier=" + verifier;
  if (config.assertion) {
    const Client client{.id = config.client_id, .secret = config.client_secret, .issuer = config.issuer};
    DROVER_TRY(const std::string said,
               client_assertion(*config.assertion, client, base64url(random_secret(kTokenIdBytes)), now));
    question.form += "&client_id=" + encoded(config.client_id) +
                     "&client_assertion_type=" + encoded("urn:ietf:params:oauth:client-assertion-type:jwt-bearer") +
                     "&client_assertion=" + said;
    return question;
  }
  if (!config.client_secret.empty() && described.takes_basic) {
    question.user = encoded(config.client_id);  // RFC 6749 §2.3.1
    question.password = encoded(config.client_secret);
    return question;
  }
  question.form += "&client_id=" + encoded(config.client_id);
  if (!config.client_secret.empty()) question.form += "&client_secret=" + encoded(config.client_secret);
  return question;
}

}  // namespace

Result<std::vector<v1::AuthConfigError>> OidcMethod::check_config(std::string_view config) {
  return read_config(config).errors;
}

Result<v1::StartAuthLoginResponse> OidcMethod::start_login(const v1::StartAuthLoginRequest& request,
                                                           std::stop_token stop) {
  DROVER_TRY(const Config config, config_for(request.config(), request.redirect_uri()));
  const auto described = providers_.describe(config.issuer, config.ca, stop);
  if (!described) return no_provider(described.status());
  if (!auth::is_trusted_url(described->authorization_endpoint))
    return no_provider(invalid_argument("the provider's description has no good authorization_endpoint"));
  const std::string verifier = config.proves_itself ? base64url(random_secret(kVerifierBytes)) : "";
  v1::StartAuthLoginResponse response;
  response.set_auth_url(auth_url(request, config, *described, verifier));
  response.set_kept(std::string(kKept) + verifier);
  return response;
}

Result<v1::AuthIdentity> OidcMethod::complete_login(const v1::CompleteAuthLoginRequest& request, std::stop_token stop) {
  DROVER_TRY(const Config config, config_for(request.config(), request.redirect_uri()));
  DROVER_TRY(const std::string verifier, verifier_of(request.kept(), config));
  const auto described = providers_.describe(config.issuer, config.ca, stop);
  if (!described) return no_provider(described.status());
  DROVER_TRY(const Tokens tokens, exchange(request, config, *described, verifier, stop));
  DROVER_TRY(jose::Claims claims, verified(tokens, request, config, *described, stop));
  if (config.asks_userinfo && !described->userinfo_endpoint.empty() && !tokens.access.empty()) {
    DROVER_TRY(claims, with_userinfo(std::move(claims), config, tokens.access, *described, stop));
  }
  v1::AuthIdentity identity;
  identity.set_subject(*claims.text("sub"));
  if (const Status mapped = jose::map_claims(claims, config.mappings, identity); !mapped.ok())
    return auth::refused(mapped.message());
  return identity;
}

Result<OidcMethod::Tokens> OidcMethod::exchange(const v1::CompleteAuthLoginRequest& request, const Config& config,
                                                const provider::Description& described, const std::string& verifier,
                                                std::stop_token stop) {
  const auto question = token_question(request, config, described, verifier, clock_.wall_ns() / kSecond);
  if (!question) return no_exchange("OIDCClientAssertion " + question.status().message());
  const auto answer = provider::ask(*question, stop);
  if (!answer) return no_exchange(answer.status().message());
  const auto said = jose::Claims::parse(answer->body);
  const std::string error = said ? known_error(*said) : "";
  if (error == "invalid_grant") return auth::refused("the provider does not know the code");
  if (answer->status != 200)
    return no_exchange("it answers " + std::to_string(answer->status) + (error.empty() ? "" : ", " + error));
  if (!said) return no_exchange("its answer " + said.status().message());
  Tokens tokens{.id = said->text("id_token").value_or(""), .access = said->text("access_token").value_or("")};
  if (tokens.id.empty()) return no_exchange("its answer has no ID token");
  return tokens;
}

Result<jose::Claims> OidcMethod::verified(const Tokens& tokens, const v1::CompleteAuthLoginRequest& request,
                                          const Config& config, const provider::Description& described,
                                          std::stop_token stop) {
  const auto token = jose::parse_token(tokens.id);
  if (!token) return auth::refused("the ID token is refused: " + token.status().message());
  const auto keys = providers_.keys_for(*token, described.jwks_uri, config.ca, stop);
  if (!keys) return no_provider(keys.status());
  if (!jose::is_signed(*token, **keys))
    return auth::refused("the ID token is refused: no key of the provider signed it");
  DROVER_RETURN_IF_ERROR(check_id_token(*token, config,
                                        {.nonce = request.client_nonce(),
                                         .code = request.code(),
                                         .access_token = tokens.access,
                                         .now = clock_.wall_ns() / kSecond}));
  return token->claims;
}

Result<jose::Claims> OidcMethod::with_userinfo(jose::Claims claims, const Config& config,
                                               const std::string& access_token, const provider::Description& described,
                                               std::stop_token stop) {
  const auto answer =
      provider::ask({.url = described.userinfo_endpoint, .ca = config.ca, .bearer = access_token}, stop);
  if (!answer) return internal_error("userinfo cannot be had: " + answer.status().message());
  if (answer->status != 200)
    return internal_error("userinfo cannot be had: the provider answers " + std::to_string(answer->status));
  const auto info = jose::Claims::parse(answer->body);
  if (!info) return internal_error("userinfo cannot be read: the answer " + info.status().message());
  if (info->text("sub") != claims.text("sub")) return auth::refused("userinfo is that of another subject");
  return claims.with(*info);
}

}  // namespace drover::oidc
