// The fuzz targets over mutations of a small corpus.
#include <gtest/gtest.h>

#include <random>

#include "sdk/testing/identity_provider/signing_key.h"

void fuzz_jwt(std::string_view text);
void fuzz_jwks(std::string_view text);
void fuzz_claims(std::string_view text);

namespace drover::jose {
namespace {

void mutate(const std::string& seed, void (*target)(std::string_view), int rounds) {
  std::mt19937 random(7);  // the same inputs each time
  target(seed);
  for (int i = 0; i < rounds; ++i) {
    std::string text = seed;
    for (unsigned n = 1 + random() % 4; n > 0; --n) {
      const size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, 1 + random() % 8);
      } else {
        text[at] = static_cast<char>(random() % 2 ? random() % 128 : "{}[]\",:.0"[random() % 9]);
      }
      if (text.empty()) text = "x";
    }
    target(text);
  }
}

TEST(JoseFuzz, TakesAnything) {
  const testing::SigningKey key(testing::SigningKey::Kind::p256, "k");
  mutate(key.token(R"({"sub":"x","aud":["a"],"exp":5})"), fuzz_jwt, 2000);
  mutate(R"({"keys":[)" + key.jwk() + R"(,{"kty":"oct","k":"AQAB"}]})", fuzz_jwks, 1000);
  mutate(R"({"sub":"x","aud":["a",1],"exp":5,"groups":["a",{"b":[1,2]}],"n":1.5e3})", fuzz_claims, 2000);
}

}  // namespace
}  // namespace drover::jose
