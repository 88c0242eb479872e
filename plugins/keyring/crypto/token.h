// JSON Web Tokens in their compact form (RFC 7515, 7519). Pure.
//
// The algorithm is the key's: a token that says another one is refused, and so is what this reader does not know
// ("crit"), a part too many, padding, a member that comes twice.
#pragma once

#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::keyring {

inline constexpr size_t kMaxToken = 64 << 10;

// Header and claims as the text that is signed. `key_id` as text.
std::string signing_text(std::string_view algorithm, std::string_view key_id, std::string_view claims);

struct Token {
  std::string algorithm;
  std::string key_id;
  std::string claims;             // a JSON object
  std::string_view signed_text;   // of the token that was read
  std::string signature;
};
// Errors: permission_denied, saying why; `missing key ID header`.
Result<Token> read_token(std::string_view token);

}  // namespace drover::keyring
