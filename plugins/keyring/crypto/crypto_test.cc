#include <gtest/gtest.h>

#include "crypto/cipher.h"
#include "crypto/signer.h"
#include "crypto/token.h"
#include "drover/base64.h"
#include "drover/base64url.h"
#include "drover/sha256.h"

namespace drover::keyring {
namespace {

std::string counting(unsigned char from, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += static_cast<char>(from + i);
  return bytes;
}

const std::string kRoot = counting(0, 32);
const std::string kNonce = counting(0xa0, 12);
const std::string kKeyId = "11111111-2222-3333-4444-555555555555";

TEST(Cipher, SealsAsTheKnownAnswersSay) {
  EXPECT_EQ(to_hex(seal_with_nonce(kRoot, kNonce, R"({"k":"v"})", kKeyId)),
            "a0a1a2a3a4a5a6a7a8a9aaab9d3a170f7fe9749d1f1760e53a702fbf98e5146fe92939c7d6");
  EXPECT_EQ(base64_encode(seal_with_nonce(std::string(32, '\xff'), kNonce, kRoot, "")),
            "oKGio6SlpqeoqaqrLXuCSiqy2261I4CzOzzrFv1RV1XgrYmSdq8oCBWa9vR2MHJggd/+LBPhuvOSncJh");
}

TEST(Cipher, OpensOnlyWhatItSealedForThatPlace) {
  const std::string sealed = seal(kRoot, "secret", "place");
  ASSERT_EQ(sealed.size(), 6 + kNonceBytes + kTagBytes);
  EXPECT_EQ(*open(kRoot, sealed, "place"), "secret");
  EXPECT_NE(seal(kRoot, "secret", "place"), sealed);
  EXPECT_EQ(open(kRoot, sealed, "elsewhere").status().code(), Code::data_loss);
  EXPECT_EQ(open(std::string(32, 'x'), sealed, "place").status().code(), Code::data_loss);
  for (size_t i = 0; i < sealed.size(); ++i) {
    std::string damaged = sealed;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(open(kRoot, damaged, "place").ok()) << i;
    EXPECT_FALSE(open(kRoot, sealed.substr(0, i), "place").ok()) << i;
  }
  EXPECT_EQ(*open(kRoot, seal(kRoot, "", ""), ""), "");
}

// RFC 5869, A.1.
TEST(Cipher, DerivesAsTheKnownAnswerSays) {
  EXPECT_EQ(to_hex(derive(std::string(22, '\x0b'), counting(0, 13), counting(0xf0, 10), 42)),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865");
}

TEST(Signer, SignsAsTheKnownAnswersSay) {
  const Signer signer = Signer::ed25519(kRoot);
  EXPECT_EQ(base64url(signer.ed25519_public()), "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg");
  const std::string text = signing_text(
      "EdDSA", kKeyId,
      R"({"nomad_namespace":"default","nomad_job_id":"web",)"
      R"("nomad_allocation_id":"a0000000-0000-0000-0000-000000000000","nomad_task":"t","nbf":1700000000,"iat":1700000000})");
  EXPECT_EQ(base64url(signer.sign(text)),
            "QrY2Wh58F762GJ5VZo7pKP_A_PTcjY6I1eJg_Zbg7VZp_4IaZA2_G4sxfO381gOXQy_5dPNS6L6wYFC_Ubl9Bw");
}

TEST(Signer, VerifiesItsOwnSignaturesOnly) {
  const Signer rsa = Signer::new_rsa();
  const auto again = Signer::rsa(rsa.private_der());
  ASSERT_TRUE(again.ok()) << again.status().message();
  const std::string signature = rsa.sign("text");
  EXPECT_TRUE(again->verifies("text", signature));
  EXPECT_FALSE(again->verifies("texT", signature));
  EXPECT_FALSE(again->verifies("text", ""));
  EXPECT_FALSE(Signer::ed25519(kRoot).verifies("text", signature));
  EXPECT_EQ(rsa.rsa_modulus().size(), 256u);
  EXPECT_EQ(rsa.rsa_exponent(), std::string("\x01\x00\x01", 3));
  EXPECT_FALSE(Signer::rsa("no key").ok());
}

TEST(Token, ReadsThreePartsOfStrictForm) {
  const auto token = [](std::string_view header, std::string_view claims) {
    return base64url(header) + "." + base64url(claims) + ".c2ln";
  };
  const std::string good = token(R"({"alg":"EdDSA","kid":"k","typ":"JWT"})", R"({"sub":"a"})");
  const auto read = read_token(good);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->algorithm, "EdDSA");
  EXPECT_EQ(read->key_id, "k");
  EXPECT_EQ(read->claims, R"({"sub":"a"})");
  EXPECT_EQ(read->signature, "sig");
  const struct {
    std::string token;
    const char* why;
  } cases[] = {
      {"", "three parts"},
      {good + ".x", "three parts"},
      {good.substr(0, good.rfind('.')), "three parts"},
      {good + "=", "base64url"},
      {token("[]", "{}"), "header is no JSON object"},
      {token(R"({"alg":"EdDSA","alg":"none","kid":"k"})", "{}"), "header is no JSON object"},
      {token(R"({"alg":"EdDSA","kid":"k","crit":["exp"]})", "{}"), "crit"},
      {token(R"({"alg":"EdDSA","kid":"k","typ":"at+jwt"})", "{}"), "typ"},
      {token(R"({"alg":"EdDSA","kid":"k"})", "7"), "claims are no JSON object"},
      {token(R"({"alg":"EdDSA","kid":"k"})", R"({"a":{"b":1,"b":2}})"), "claims are no JSON object"},
      {token(R"({"alg":"EdDSA"})", "{}"), "missing key ID header"},
      {token(R"({"alg":"EdDSA","kid":"k"})", "{}") + std::string(kMaxToken, 'A'), "longer than"},
  };
  for (const auto& c : cases) {
    const Status status = read_token(c.token).status();
    EXPECT_EQ(status.code(), Code::permission_denied) << c.why;
    EXPECT_NE(status.message().find(c.why), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace drover::keyring
