// The rules for an ID token (OpenID Connect Core 3.1.3.7). Pure.
#pragma once

#include <string_view>

#include "config.h"

namespace drover::oidc {

struct Expected {
  std::string_view nonce;
  std::string_view code;
  std::string_view access_token;
  int64_t now = 0;  // seconds since 1970
};

// Everything but the signature. Errors: unauthenticated, saying which rule it breaks and nothing of its content.
Status check_id_token(const jose::Token& token, const Config& config, const Expected& expected);

}  // namespace drover::oidc
