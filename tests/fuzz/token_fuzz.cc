// One input as a JSON Web Token, and as base64url.
#include <string_view>

#include "drover/base64url.h"
#include "plugins/keyring/crypto/token.h"

void fuzz_token(std::string_view text);

void fuzz_token(std::string_view text) {
  using namespace drover;
  const auto token = keyring::read_token(text);
  DROVER_CHECK(token.ok() ? !token->key_id.empty() : token.status().code() == Code::permission_denied);
  const auto bytes = base64url_decode(text);
  DROVER_CHECK(!bytes || base64url(*bytes) == text);  // each text has one form
}
