// One input as a JSON Web Token that somebody shows to log in.
#include <array>
#include <string_view>

#include "drover/jose.h"

void fuzz_jwt(std::string_view text);

void fuzz_jwt(std::string_view text) {
  using namespace drover;
  const auto token = jose::parse_token(text);
  if (!token) {
    DROVER_CHECK(token.status().code() == Code::invalid_argument);
    return;
  }
  static const auto key =
      jose::Key::from_jwk(R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})");
  DROVER_CHECK(!jose::is_signed(*token, std::array{*key}));  // nobody has its other half
  DROVER_CHECK(token->signed_text.size() < text.size());
}
