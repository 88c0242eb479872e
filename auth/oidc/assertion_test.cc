// Clients that prove themselves by a token of their own, against a provider that looks at it.
#include "assertion.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config.h"
#include "drover/base64url.h"
#include "drover/tls.h"
#include "drover/v1/auth_method.pb.h"
#include "oidc_method.h"
#include "sdk/testing/identity_provider/provider.h"
#include "sdk/testing/identity_provider/signing_key.h"

namespace drover::oidc {
namespace {

using Json = nlohmann::json;
using testing::IdentityProvider;
using testing::SigningKey;
using Kind = SigningKey::Kind;

constexpr const char* kRedirect = "http://localhost:4649/oidc/callback";
constexpr const char* kSecret = "a secret of more than thirty-two bytes";

Json config_with(const Json& assertion, const std::string& issuer = "https://id.example") {
  return {{"OIDCDiscoveryURL", issuer},
          {"OIDCClientID", testing::kClientId},
          {"OIDCClientSecret", kSecret},
          {"AllowedRedirectURIs", {kRedirect}},
          {"OIDCClientAssertion", assertion}};
}

Json private_key(const SigningKey& key) {
  return {{"KeySource", "private_key"}, {"PrivateKey", {{"PemKey", key.private_pem()}, {"KeyID", "ours"}}}};
}

class Assertions : public ::testing::Test {
 protected:
  Status login(const Json& assertion) {
    const std::string config = config_with(assertion, provider_.issuer()).dump();
    v1::StartAuthLoginRequest begin;
    begin.set_config(config);
    begin.set_redirect_uri(kRedirect);
    begin.set_client_nonce("nonce");
    begin.set_state("state");
    DROVER_TRY(const auto started, method_.start_login(begin, {}));
    DROVER_TRY(auto brought, IdentityProvider::visit(started.auth_url()));
    v1::CompleteAuthLoginRequest end;
    end.set_config(config);
    end.set_redirect_uri(kRedirect);
    end.set_client_nonce("nonce");
    end.set_state("state");
    end.set_kept(started.kept());
    end.set_code(brought["code"]);
    return method_.complete_login(end, {}).status();
  }
  void expect_client(const SigningKey& key) { provider_.set(Json{{"client_key", key.pem()}}.dump()); }

  IdentityProvider provider_;
  OidcMethod method_;
};

TEST_F(Assertions, ProveTheClientByItsPrivateKey) {
  const struct {
    Kind kind;
    std::vector<std::string> algorithms;  // "": the one that counts when none is said
  } cases[] = {{Kind::rsa, {"", "RS512", "PS256"}},
               {Kind::p256, {"ES256"}},
               {Kind::p384, {"ES384"}},
               {Kind::p521, {"ES512"}},
               {Kind::ed25519, {"EdDSA"}}};
  for (const auto& c : cases) {
    const SigningKey key(c.kind, "client");
    expect_client(key);
    for (const std::string& algorithm : c.algorithms) {
      Json assertion = private_key(key);
      assertion["KeyAlgorithm"] = algorithm;
      EXPECT_EQ(login(assertion), ok_status()) << algorithm;
    }
  }
}

TEST_F(Assertions, AreRefusedByAnotherKeyOrForAnotherAudience) {
  const SigningKey key(Kind::rsa, "client"), other(Kind::rsa, "other");
  const std::string refused = "failed to exchange token with provider: it answers 401, invalid_client";
  expect_client(other);
  EXPECT_EQ(login(private_key(key)).message(), refused);
  expect_client(key);
  Json assertion = private_key(key);
  assertion["Audience"] = {"https://another.example"};
  EXPECT_EQ(login(assertion).message(), refused);
  assertion["Audience"] = {provider_.issuer()};
  EXPECT_EQ(login(assertion), ok_status());
}

TEST_F(Assertions, ProveTheClientByItsSecretWithoutSendingIt) {
  provider_.set(Json{{"shared_key", kSecret}}.dump());
  EXPECT_EQ(login({{"KeySource", "client_secret"}}), ok_status());
  EXPECT_NE(login({{"KeySource", "client_secret"}, {"KeyAlgorithm", "HS384"}}), ok_status());
  provider_.set(Json{{"shared_key", "another"}}.dump());
  EXPECT_NE(login({{"KeySource", "client_secret"}}), ok_status());
}

TEST(Assertion, SaysWhoItIsForFiveMinutes) {
  Assertion assertion{.audience = {"a", "b"}};
  assertion.headers["env"] = "prod";
  const auto text = client_assertion(assertion, {.id = "drover", .secret = kSecret, .issuer = "i"}, "once", 1000);
  ASSERT_TRUE(text.ok());
  const size_t dot = text->find('.');
  EXPECT_EQ(*base64url_decode(text->substr(0, dot)), R"({"alg":"HS256","env":"prod","typ":"JWT"})");
  EXPECT_EQ(*base64url_decode(text->substr(dot + 1, text->rfind('.') - dot - 1)),
            R"({"aud":["a","b"],"exp":1300,"iat":1000,"iss":"drover","jti":"once","nbf":1000,"sub":"drover"})");
}

TEST(Assertion, NamesItsKeyByACertificate) {
  const auto own = make_tls_identity(), other = make_tls_identity();
  ASSERT_TRUE(own.ok() && other.ok());
  const auto headers_of = [&](const std::string& header, const std::string& certificate) {
    const Json key{{"PemKey", own->key}, {"PemCert", certificate}, {"KeyIDHeader", header}};
    const auto [config, errors] =
        read_config(config_with({{"KeySource", "private_key"}, {"KeyAlgorithm", "ES512"}, {"PrivateKey", key}}).dump());
    EXPECT_EQ(auth::text_of(errors), certificate == own->cert ? "" : "OIDCClientAssertion.PrivateKey.PemCert: is not "
                                                                      "the certificate of PemKey");
    return config.assertion->headers;
  };
  EXPECT_EQ(base64url_decode(headers_of("", own->cert).at("x5t#S256"))->size(), 32U);
  EXPECT_EQ(base64url_decode(headers_of("x5t", own->cert).at("x5t"))->size(), 20U);
  EXPECT_TRUE(headers_of("", other->cert).empty());
}

TEST(Assertion, OptionsThatAreWrongAreNamed) {
  const SigningKey key(Kind::rsa, "client"), small(Kind::small_rsa, "small");
  const auto with = [](Json json, const Json& over) {
    json.merge_patch(over);
    return json;
  };
  const Json good = private_key(key);
  const std::string option = "OIDCClientAssertion.";
  const struct {
    const char* name;
    Json assertion;
    std::string error;  // empty: none
  } cases[] = {
      {"good", good, ""},
      {"none", nullptr, ""},
      {"no object", "x", "OIDCClientAssertion: must be an object"},
      {"no source", {{"KeyAlgorithm", "RS256"}}, option + "KeySource: missing KeySource"},
      {"a source that is none", {{"KeySource", "vault"}}, option + "KeySource: must be private_key or client_secret"},
      {"the cluster's keys", {{"KeySource", "nomad"}},
       option + "KeySource: nomad is not supported: the cluster's root keys sign identities only; use private_key"},
      {"no key", {{"KeySource", "private_key"}}, option + "PrivateKey: missing PrivateKey"},
      {"text that is no key", with(good, {{"PrivateKey", {{"PemKey", "hush"}}}}),
       option + "PrivateKey.PemKey: is no private key in PEM without a password"},
      {"a small key", with(good, {{"PrivateKey", {{"PemKey", small.private_pem()}}}}),
       option + "PrivateKey.PemKey: is no key for RS256, of 2048 bits or more"},
      {"another kind of key", with(good, {{"KeyAlgorithm", "ES256"}}), option + "PrivateKey.PemKey: is no key for ES256"},
      {"no algorithm for keys", with(good, {{"KeyAlgorithm", "HS256"}}),
       option + "KeyAlgorithm: is none that a private key signs by"},
      {"a file", with(good, {{"PrivateKey", {{"PemKeyFile", "/etc/key"}}}}),
       option + "PrivateKey.PemKeyFile: is not supported: a Config has the text itself, sealed"},
      {"no identifier", with(good, {{"PrivateKey", {{"KeyID", nullptr}}}}),
       option + "PrivateKey.KeyID: exactly one of KeyID and PemCert is needed"},
      {"a header of another kind", with(good, {{"PrivateKey", {{"KeyIDHeader", "x5t"}}}}),
       option + "PrivateKey.KeyIDHeader: of a KeyID must be kid"},
      {"text that is no certificate", with(good, {{"PrivateKey", {{"KeyID", nullptr}, {"PemCert", "x"}}}}),
       option + "PrivateKey.PemCert: is no certificate in PEM"},
      {"a header that is ours", with(good, {{"ExtraHeaders", {{"alg", "none"}}}}),
       option + "ExtraHeaders.alg: is not for an option to say"},
      {"a key beside the secret", with(good, {{"KeySource", "client_secret"}}),
       option + "PrivateKey: is for the KeySource private_key"},
      {"no algorithm for secrets", {{"KeySource", "client_secret"}, {"KeyAlgorithm", "RS256"}},
       option + "KeyAlgorithm: is none that a secret signs by: HS256, HS384, HS512"},
      {"an unknown option", with(good, {{"Key", "x"}}), option + "Key: there is no such option"},
  };
  for (const auto& c : cases) {
    const auto errors = read_config(config_with(c.assertion).dump()).errors;
    EXPECT_EQ(auth::text_of(errors), c.error) << c.name;
  }
  Json short_secret = config_with({{"KeySource", "client_secret"}});
  short_secret["OIDCClientSecret"] = "short";
  EXPECT_EQ(auth::text_of(read_config(short_secret.dump()).errors),
            option + "KeySource: needs an OIDCClientSecret of 32 bytes or more");
}

}  // namespace
}  // namespace drover::oidc
