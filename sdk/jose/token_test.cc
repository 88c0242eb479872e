// Tokens and keys: the vectors of RFC 7515, 7517 and 8037, every algorithm both ways, and everything that is refused.
#include <gtest/gtest.h>

#include "drover/base64url.h"
#include "drover/jose.h"
#include "sdk/testing/identity_provider/signing_key.h"

namespace drover::jose {
namespace {

using testing::SigningKey;
using Kind = SigningKey::Kind;

TEST(Base64Url, IsStrict) {
  const struct {
    std::string bytes, text;
  } cases[] = {{"", ""}, {"f", "Zg"}, {"fo", "Zm8"}, {"foo", "Zm9v"}, {"\xfb\xff", "-_8"}};
  for (const auto& c : cases) {
    EXPECT_EQ(base64url(c.bytes), c.text);
    EXPECT_EQ(base64url_decode(c.text).value_or("?"), c.bytes);
  }
  for (const char* wrong : {"Zg==", "Zh", "Z", "Zm9v\n", "Zm 9v", "+/8", "Zm8="})
    EXPECT_FALSE(base64url_decode(wrong).ok()) << wrong;
}

struct Vector {
  const char* name;
  const char* key;  // JWK
  const char* token;
};

// RFC 7515 A.2 and A.3 (the same payload), RFC 8037 A.4.
const Vector kVectors[] = {
    {"RS256",
     R"({"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"})",
     "eyJhbGciOiJSUzI1NiJ9."
     "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
     "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"
     "O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_"
     "nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-"
     "eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"},
    {"ES256",
     R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})",
     "eyJhbGciOiJFUzI1NiJ9."
     "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
     "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"},
};

TEST(Jose, VerifiesTheVectorsOfTheStandards) {
  for (const Vector& c : kVectors) {
    SCOPED_TRACE(c.name);
    const auto key = Key::from_jwk(c.key);
    ASSERT_TRUE(key.ok()) << key.status().message();
    const auto token = parse_token(c.token);
    ASSERT_TRUE(token.ok()) << token.status().message();
    EXPECT_EQ(name_of(token->algorithm), c.name);
    EXPECT_TRUE(is_signed(*token, std::vector{*key}));
  }
}

// Its payload is no JSON, and so no token here: the signature alone.
TEST(Jose, VerifiesTheEd25519Vector) {
  const auto key = Key::from_jwk(R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"})");
  ASSERT_TRUE(key.ok()) << key.status().message();
  const std::string text = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  const auto signature =
      base64url_decode("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg");
  ASSERT_TRUE(signature.ok());
  EXPECT_TRUE(key->verifies(Algorithm::eddsa, text, *signature));
  EXPECT_FALSE(key->verifies(Algorithm::eddsa, text + "x", *signature));
  EXPECT_FALSE(key->verifies(Algorithm::rs256, text, *signature));
}

TEST(Jose, ChecksEveryAlgorithmByEveryKey) {
  const SigningKey rsa(Kind::rsa, ""), p256(Kind::p256, ""), p384(Kind::p384, ""), p521(Kind::p521, ""),
      ed(Kind::ed25519, "");
  const struct {
    const char* algorithm;
    const SigningKey* key;
  } cases[] = {{"RS256", &rsa}, {"RS384", &rsa},  {"RS512", &rsa},  {"PS256", &rsa},  {"PS384", &rsa},
               {"PS512", &rsa}, {"ES256", &p256}, {"ES384", &p384}, {"ES512", &p521}, {"EdDSA", &ed}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.algorithm);
    const auto token = parse_token(c.key->token(R"({"sub":"x"})", c.algorithm));
    ASSERT_TRUE(token.ok()) << token.status().message();
    for (const SigningKey* key : {&rsa, &p256, &p384, &p521, &ed}) {
      const auto by_pem = Key::from_pem(key->pem());
      const auto by_jwk = Key::from_jwk(key->jwk());
      ASSERT_TRUE(by_pem.ok() && by_jwk.ok()) << by_pem.status().message() << by_jwk.status().message();
      EXPECT_EQ(is_signed(*token, std::vector{*by_pem}), key == c.key);
      EXPECT_EQ(is_signed(*token, std::vector{*by_jwk}), key == c.key);
    }
    Token changed = *token;
    changed.signature.back() ^= 1;
    EXPECT_FALSE(is_signed(changed, std::vector{*Key::from_pem(c.key->pem())}));
    changed = *token;
    changed.signed_text += "x";
    EXPECT_FALSE(is_signed(changed, std::vector{*Key::from_pem(c.key->pem())}));
  }
}

TEST(Jose, TakesSignaturesOfFixedWidthOnly) {
  const SigningKey key(Kind::p256, "");
  const auto read = Key::from_pem(key.pem());
  const std::string good = key.signature("text", "ES256");
  EXPECT_TRUE(read->verifies(Algorithm::es256, "text", good));
  EXPECT_FALSE(read->verifies(Algorithm::es256, "text", good.substr(0, 63)));
  EXPECT_FALSE(read->verifies(Algorithm::es256, "text", good + '\0'));
  EXPECT_FALSE(read->verifies(Algorithm::es256, "text", std::string("\0", 1) + good));
  EXPECT_FALSE(read->verifies(Algorithm::es256, "text", std::string(64, '\0')));
  EXPECT_FALSE(read->verifies(Algorithm::es256, "text", ""));
}

TEST(Jose, RefusesTokensOfAnotherForm) {
  const SigningKey key(Kind::ed25519, "k");
  const std::string good = key.token(R"({"sub":"x"})");
  const auto with_header = [&](const char* header) { return key.token_with_header(header, R"({"sub":"x"})", "EdDSA"); };
  const struct {
    const char* name;
    std::string token, error;
  } cases[] = {
      {"good", good, ""},
      {"empty", "", "three parts"},
      {"two parts", good.substr(0, good.rfind('.')), "three parts"},
      {"four parts", good + ".x", "three parts"},
      {"padding", good + "=", "base64url"},
      {"a line end", good + "\n", "base64url"},
      {"JSON serialization", R"({"signatures":[]})", "token with multiple signatures not supported"},
      {"long", std::string(kMaxToken + 1, 'x'), "longer than 16384 bytes"},
      {"none", key.token("{}", "none"), "token signed with unexpected algorithm"},
      {"HS256", key.token("{}", "HS256"), "token signed with unexpected algorithm"},
      {"no algorithm", with_header("{}"), "token signed with unexpected algorithm"},
      {"an algorithm in other letters", with_header(R"({"alg":"EDDSA"})"), "token signed with unexpected algorithm"},
      {"an algorithm that is no text", with_header(R"({"alg":1})"), "\"alg\" that is no text"},
      {"crit", with_header(R"({"alg":"EdDSA","crit":["exp"]})"), "\"crit\" that is not known"},
      {"a header twice", with_header(R"({"alg":"EdDSA","alg":"none"})"), "header: has a member twice"},
      {"no header", with_header("[]"), "header: is no JSON object"},
      {"claims twice", key.token(R"({"sub":"a","sub":"b"})"), "claims: has a member twice"},
      {"deep twice", key.token(R"({"a":[{"b":1,"b":2}]})"), "claims: has a member twice"},
      {"claims that are none", key.token("[]"), "claims: is no JSON object"},
      {"claims too deep", key.token(R"({"a":)" + std::string(40, '[') + std::string(40, ']') + "}"), "too deep"},
      {"something behind the claims", key.token("{} {}"), "claims: is no JSON object"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto token = parse_token(c.token);
    EXPECT_EQ(token.ok(), c.error.empty());
    if (token.ok()) continue;
    EXPECT_NE(token.status().message().find(c.error), std::string::npos) << token.status().message();
  }
}

TEST(Jose, RefusesKeysThatAreNone) {
  const SigningKey rsa(Kind::rsa, ""), small(Kind::small_rsa, "");
  const struct {
    const char* name;
    std::string jwk;
    Code code;
  } cases[] = {
      {"small", small.jwk(), Code::invalid_argument},
      {"even exponent", R"({"kty":"RSA","n":")" + base64url(std::string(256, '\xc1')) + R"(","e":"Ag"})",
       Code::invalid_argument},
      {"huge exponent",
       R"({"kty":"RSA","n":")" + base64url(std::string(256, '\xc1')) + R"(","e":")" +
           base64url(std::string(200, '\x01')) + R"("})",
       Code::invalid_argument},
      {"huge", R"({"kty":"RSA","n":")" + base64url(std::string(4000, '\xc1')) + R"(","e":"AQAB"})",
       Code::invalid_argument},
      {"no modulus", R"({"kty":"RSA","e":"AQAB"})", Code::invalid_argument},
      {"padded", R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo="})",
       Code::invalid_argument},
      {"short", R"({"kty":"OKP","crv":"Ed25519","x":"11qYAYKx"})", Code::invalid_argument},
      {"off the curve",
       R"({"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"})",
       Code::invalid_argument},
      {"of another width", R"({"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"})", Code::invalid_argument},
      {"another curve", R"({"kty":"EC","crv":"secp256k1","x":"AQ","y":"AQ"})", Code::unimplemented},
      {"a shared secret", R"({"kty":"oct","k":"AQAB"})", Code::unimplemented},
      {"for encryption", R"({"kty":"RSA","use":"enc","n":"AQAB","e":"AQAB"})", Code::unimplemented},
      {"for signing only", R"({"kty":"RSA","key_ops":["sign"],"n":"AQAB","e":"AQAB"})", Code::unimplemented},
      {"for HS256", R"({"kty":"RSA","alg":"HS256","n":"AQAB","e":"AQAB"})", Code::unimplemented},
      {"a member twice", R"({"kty":"RSA","kty":"EC"})", Code::invalid_argument},
      {"no object", "[]", Code::invalid_argument},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Key::from_jwk(c.jwk).status().code(), c.code) << Key::from_jwk(c.jwk).status().message();
  }
  EXPECT_FALSE(Key::from_pem(small.pem()).ok());
  EXPECT_FALSE(Key::from_pem(rsa.private_pem()).ok());
  EXPECT_FALSE(Key::from_pem("").ok());
  EXPECT_FALSE(Key::from_pem("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n").ok());
}

// A key that says what it is for is for nothing else.
TEST(Jose, KeepsAKeyToItsAlgorithm) {
  const SigningKey rsa(Kind::rsa, "");
  std::string jwk = rsa.jwk();
  jwk.insert(1, R"("alg":"PS256",)");
  const auto key = Key::from_jwk(jwk);
  ASSERT_TRUE(key.ok());
  EXPECT_TRUE(key->fits(Algorithm::ps256));
  EXPECT_FALSE(key->fits(Algorithm::rs256));
  EXPECT_FALSE(key->verifies(Algorithm::rs256, "x", rsa.signature("x", "RS256")));
  EXPECT_TRUE(key->verifies(Algorithm::ps256, "x", rsa.signature("x", "PS256")));
}

TEST(KeySet, LeavesOutWhatIsOfNoUse) {
  const SigningKey a(Kind::ed25519, "a"), b(Kind::p256, "b");
  const auto keys = parse_key_set(R"({"keys":[{"kty":"oct","k":"AQAB"},)" + a.jwk() + "," + b.jwk() + "]}");
  ASSERT_TRUE(keys.ok()) << keys.status().message();
  ASSERT_EQ(keys->size(), 2u);
  EXPECT_EQ((*keys)[0].id() + (*keys)[1].id(), "ab");
}

TEST(KeySet, IsRefusedWithTheKeyThatIsBad) {
  const struct {
    std::string set, error;
  } cases[] = {{"{}", "no list \"keys\""},
               {R"({"keys":{}})", "no list \"keys\""},
               {R"({"keys":[1]})", "keys[0] of the key set is no object"},
               {R"({"keys":[{"kty":"oct"},{"kty":"RSA"}]})", "keys[1] of the key set: \"n\" is missing"},
               {R"({"keys":[],"keys":[]})", "has a member twice"},
               {std::string(kMaxKeySet + 1, ' '), "longer than"},
               {"", "is no JSON object"}};
  for (const auto& c : cases) {
    const auto keys = parse_key_set(c.set);
    EXPECT_FALSE(keys.ok());
    EXPECT_NE(keys.status().message().find(c.error), std::string::npos) << keys.status().message();
  }
}

// The identifier that a token names picks the key; where no key has one, each is tried.
TEST(KeySet, IsSearchedByIdentifier) {
  const SigningKey a(Kind::ed25519, "a"), b(Kind::ed25519, "b"), bare(Kind::ed25519, "");
  const std::vector<Key> named = {*Key::from_jwk(a.jwk()), *Key::from_jwk(b.jwk())};
  const std::vector<Key> nameless = {*Key::from_pem(a.pem()), *Key::from_pem(b.pem())};
  const auto of_b = parse_token(b.token("{}")), without = parse_token(SigningKey(Kind::ed25519, "").token("{}")),
             other = parse_token(SigningKey(Kind::ed25519, "b").token("{}"));
  EXPECT_TRUE(is_signed(*of_b, named));
  EXPECT_TRUE(is_signed(*of_b, nameless));
  EXPECT_FALSE(is_signed(*of_b, std::vector{named[0]}));
  EXPECT_FALSE(is_signed(*other, named));
  EXPECT_FALSE(is_signed(*without, named));
  EXPECT_FALSE(is_signed(*of_b, {}));
  EXPECT_TRUE(names_known_key(*of_b, named));
  EXPECT_TRUE(names_known_key(*without, named));
  EXPECT_FALSE(names_known_key(*of_b, std::vector{named[0]}));
}

}  // namespace
}  // namespace drover::jose
