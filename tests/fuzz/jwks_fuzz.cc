// One input as a JSON Web Key Set that a provider publishes.
#include <string_view>

#include "drover/jose.h"

void fuzz_jwks(std::string_view text);

void fuzz_jwks(std::string_view text) {
  using namespace drover;
  const auto keys = jose::parse_key_set(text);
  DROVER_CHECK(keys.ok() || keys.status().code() == Code::invalid_argument);
  if (!keys) return;
  DROVER_CHECK(keys->size() <= jose::kMaxKeys);
  for (const jose::Key& key : *keys) DROVER_CHECK(!key.verifies(jose::Algorithm::rs256, "text", "no signature"));
}
