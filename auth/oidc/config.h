// The Config of an auth method of type OIDC. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assertion.h"
#include "drover/claims.h"
#include "drover/jose.h"

namespace drover::v1 {
class AuthConfigError;
}

namespace drover::oidc {

struct Config {
  std::string issuer, ca;
  std::string client_id;
  std::string client_secret;        // secret; empty: a public client
  std::optional<Assertion> assertion;  // in place of the secret, when the code is exchanged
  std::vector<std::string> scopes;  // "openid" first
  std::vector<std::string> redirects;
  std::vector<std::string> bound_audiences;
  std::vector<jose::Algorithm> algorithms;
  jose::ClaimMappings mappings;
  bool proves_itself = true;  // PKCE (RFC 7636)
  bool asks_userinfo = true;
};

struct ReadConfig {
  Config config;
  std::vector<v1::AuthConfigError> errors;
};
ReadConfig read_config(std::string_view json);

// It is one of AllowedRedirectURIs; of a URI on this machine the port does not count (RFC 8252 §7.3).
bool may_return_to(const Config& config, std::string_view redirect);

}  // namespace drover::oidc
