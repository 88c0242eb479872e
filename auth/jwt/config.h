// The Config of an auth method of type JWT. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/claims.h"
#include "drover/jose.h"

namespace drover::v1 {
class AuthConfigError;
}

namespace drover::jwt {

struct Config {
  std::vector<jose::Key> keys;    // the first source
  std::string jwks_url, jwks_ca;  // the second
  std::string issuer, issuer_ca;  // the third: keys of whom its description names
  std::vector<std::string> bound_audiences, bound_issuers;
  std::vector<jose::Algorithm> algorithms;
  jose::TimeRules times;
  jose::ClaimMappings mappings;
};

// An option that cannot be read stays empty, and is among the errors.
struct ReadConfig {
  Config config;
  std::vector<v1::AuthConfigError> errors;
};
ReadConfig read_config(std::string_view json);

}  // namespace drover::jwt
