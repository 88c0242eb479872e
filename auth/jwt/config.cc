#include "config.h"

#include "drover/auth_config.h"
#include "drover/v1/auth_method.pb.h"

namespace drover::jwt {
namespace {

constexpr const char* kOfOidc = "is an option of the type OIDC";
constexpr const char* kNotLogged = "is not supported: claims are not written to logs";

// Nothing or zero: the default. Negative: none at all.
std::chrono::seconds leeway(auth::ConfigReader& config, const char* name, std::chrono::seconds fallback) {
  const auto said = config.duration(name);
  if (!said || said->count() == 0) return fallback;
  return said->count() < 0 ? std::chrono::seconds(0) : std::chrono::duration_cast<std::chrono::seconds>(*said);
}

std::vector<jose::Key> keys_in(const std::vector<std::string>& pems, auth::ConfigReader& config) {
  std::vector<jose::Key> keys;
  for (size_t i = 0; i < pems.size(); ++i) {
    auto key = jose::Key::from_pem(pems[i]);
    if (key) {
      keys.push_back(*std::move(key));
    } else {
      config.error("JWTValidationPubKeys[" + std::to_string(i) + "]", key.status().message());
    }
  }
  return keys;
}

// Exactly one place that keys come from.
void read_sources(auth::ConfigReader& reader, Config& config) {
  const std::vector<std::string> pems = reader.texts("JWTValidationPubKeys");
  config.keys = keys_in(pems, reader);
  config.jwks_url = reader.url("JWKSURL");
  const std::string ca = reader.text("JWKSCACert");
  if (!ca.empty()) config.jwks_ca = auth::authorities(reader, "JWKSCACert", {ca});
  config.issuer = reader.url("OIDCDiscoveryURL");
  config.issuer_ca = auth::authorities(reader, "DiscoveryCaPem", reader.texts("DiscoveryCaPem"));
  if (config.jwks_url.empty()) reader.refuse("JWKSCACert", "is for JWKSURL, which is not set");
  if (config.issuer.empty()) reader.refuse("DiscoveryCaPem", "is for OIDCDiscoveryURL, which is not set");
  const int sources = !pems.empty() + !config.jwks_url.empty() + !config.issuer.empty();
  if (sources == 0)
    reader.error("",
                 "needs one of JWTValidationPubKeys, JWKSURL and OIDCDiscoveryURL: nothing can be verified without a "
                 "key");
  if (sources > 1)
    reader.error("",
                 "has more than one of JWTValidationPubKeys, JWKSURL and OIDCDiscoveryURL: keys come from one place");
}

}  // namespace

ReadConfig read_config(std::string_view json) {
  auth::ConfigReader reader(json);
  ReadConfig read;
  Config& config = read.config;
  read_sources(reader, config);
  config.bound_audiences = reader.texts("BoundAudiences");
  config.bound_issuers = reader.texts("BoundIssuer");
  config.algorithms = auth::signing_algorithms(reader);
  config.times = {.expiration_leeway = leeway(reader, "ExpirationLeeway", config.times.expiration_leeway),
                  .not_before_leeway = leeway(reader, "NotBeforeLeeway", config.times.not_before_leeway),
                  .clock_skew = leeway(reader, "ClockSkewLeeway", config.times.clock_skew)};
  config.mappings = auth::claim_mappings(reader);
  for (const char* name : {"OIDCClientID", "OIDCClientSecret", "OIDCScopes", "AllowedRedirectURIs", "OIDCEnablePKCE",
                           "OIDCDisablePKCE", "OIDCDisableUserInfo", "OIDCClientAssertion"})
    reader.refuse(name, kOfOidc);
  reader.refuse("VerboseLogging", kNotLogged);
  read.errors = reader.finish();
  return read;
}

}  // namespace drover::jwt
