#include "config.h"

#include <algorithm>

#include "drover/auth_config.h"
#include "drover/v1/auth_method.pb.h"

namespace drover::oidc {
namespace {

constexpr const char* kOfJwt = "is an option of the type JWT";

struct Uri {
  std::string_view scheme, host, port, rest;
  friend bool operator==(const Uri&, const Uri&) = default;
};

Uri parts_of(std::string_view text) {
  Uri uri;
  const size_t slashes = text.find("://");
  if (slashes == std::string_view::npos) return {.scheme = {}, .host = {}, .port = {}, .rest = text};
  uri.scheme = text.substr(0, slashes);
  const std::string_view behind = text.substr(slashes + 3);
  const size_t end = std::min(behind.find_first_of("/?#"), behind.size());
  const std::string_view authority = behind.substr(0, end);
  uri.rest = behind.substr(end);
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  uri.host = authority.substr(0, colon);
  if (colon != std::string_view::npos) uri.port = authority.substr(colon + 1);
  return uri;
}

bool is_loopback(std::string_view host) { return host == "localhost" || host == "127.0.0.1" || host == "[::1]"; }

std::vector<std::string> scopes_of(std::vector<std::string> said) {
  if (std::ranges::find(said, "openid") == said.end()) said.insert(said.begin(), "openid");
  return said;
}

}  // namespace

ReadConfig read_config(std::string_view json) {
  using auth::Need;
  auth::ConfigReader reader(json);
  ReadConfig read;
  Config& config = read.config;
  config.issuer = reader.url("OIDCDiscoveryURL", Need::must);
  config.ca = auth::authorities(reader, "DiscoveryCaPem", reader.texts("DiscoveryCaPem"));
  config.client_id = reader.text("OIDCClientID", Need::must);
  config.client_secret = reader.text("OIDCClientSecret");
  config.assertion = read_assertion(reader, config.client_secret);
  config.scopes = scopes_of(reader.texts("OIDCScopes"));
  config.redirects = reader.texts("AllowedRedirectURIs", Need::must);
  config.bound_audiences = reader.texts("BoundAudiences");
  config.algorithms = auth::signing_algorithms(reader);
  config.mappings = auth::claim_mappings(reader);
  // Clients write every field that they know, so false in OIDCEnablePKCE is no wish: PKCE has its own way off.
  const bool wants_proof = reader.flag("OIDCEnablePKCE").value_or(false);
  config.proves_itself = !reader.flag("OIDCDisablePKCE").value_or(false);
  if (wants_proof && !config.proves_itself) reader.error("OIDCDisablePKCE", "contradicts OIDCEnablePKCE");
  config.asks_userinfo = !reader.flag("OIDCDisableUserInfo").value_or(false);
  for (size_t i = 0; i < config.redirects.size(); ++i) {
    const std::string& each = config.redirects[i];
    if (!each.starts_with("https://") && !each.starts_with("http://"))
      reader.error("AllowedRedirectURIs[" + std::to_string(i) + "]", "must begin with https:// or http://");
  }
  for (const char* name : {"JWTValidationPubKeys", "JWKSURL", "JWKSCACert", "BoundIssuer", "ExpirationLeeway",
                           "NotBeforeLeeway", "ClockSkewLeeway"})
    reader.refuse(name, kOfJwt);
  reader.refuse("VerboseLogging", "is not supported: claims are not written to logs");
  read.errors = reader.finish();
  return read;
}

bool may_return_to(const Config& config, std::string_view redirect) {
  const Uri wanted = parts_of(redirect);
  return std::ranges::any_of(config.redirects, [&](const std::string& allowed) {
    if (allowed == redirect) return true;
    Uri known = parts_of(allowed);
    if (!is_loopback(known.host)) return false;
    const bool is_port = std::ranges::all_of(wanted.port, [](char c) { return c >= '0' && c <= '9'; });
    known.port = wanted.port;
    return is_port && known == wanted;
  });
}

}  // namespace drover::oidc
