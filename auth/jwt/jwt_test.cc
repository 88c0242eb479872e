// Logins by tokens that somebody else signed: the Config, the order in which a token is looked at, and where keys are
// from.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/auth_method.h"
#include "drover/v1/auth_method.pb.h"
#include "jwt_method.h"
#include "sdk/testing/identity_provider/provider.h"
#include "sdk/testing/identity_provider/signing_key.h"

namespace drover::jwt {
namespace {

using Json = nlohmann::json;
using testing::IdentityProvider;
using testing::SigningKey;

constexpr int64_t kNow = 1'700'000'000;
constexpr const char* kNoKey = "no known key successfully validated the token signature";

// A time that the test moves.
class StillClock final : public Clock {
 public:
  int64_t wall_ns() const override { return kNow * 1'000'000'000; }
  SteadyTime steady() const override { return SteadyTime(std::chrono::hours(1)) + ahead; }
  std::chrono::seconds ahead{};
};

class JwtLogin : public ::testing::Test {
 protected:
  Result<v1::AuthIdentity> login(const Json& config, const std::string& token) {
    v1::AuthLoginRequest request;
    request.set_config(config.dump());
    request.set_token(token);
    return method_.login(request, {});
  }
  Json with_key(Json config = Json::object()) const {
    config["JWTValidationPubKeys"] = {key_.pem()};
    return config;
  }
  static std::string claims(const Json& over = Json::object()) {
    Json json{{"sub", "build"}, {"iss", "ci"}, {"aud", "drover"}, {"iat", kNow - 5}, {"exp", kNow + 300}};
    json.update(over);
    return json.dump();
  }

  StillClock clock_;
  JwtMethod method_{clock_};
  const SigningKey key_{SigningKey::Kind::rsa, "k1"};
};

TEST_F(JwtLogin, TellsWhoSomebodyIs) {
  const Json config = with_key({{"BoundIssuer", {"ci"}},
                                {"BoundAudiences", {"other", "drover"}},
                                {"ClaimMappings", {{"/repo/name", "repo"}, {"ref", "ref"}}},
                                {"ListClaimMappings", {{"teams", "teams"}}}});
  const auto who = login(config, key_.token(claims({{"repo", {{"name", "web"}}}, {"teams", {"a", "", "b"}}})));
  ASSERT_TRUE(who.ok()) << who.status().message();
  EXPECT_EQ(who->subject(), "build");
  EXPECT_EQ(who->claims().size(), 1u);
  EXPECT_EQ(who->claims().at("repo"), "web");
  EXPECT_EQ(who->list_claims().at("teams").values_size(), 2);
  EXPECT_FALSE(who->has_expires_at());
}

// The first thing that is wrong is the one that is said.
TEST_F(JwtLogin, LooksAtATokenInThisOrder) {
  const SigningKey other(SigningKey::Kind::rsa, "k1");
  const Json strict{{"BoundIssuer", {"ci"}}, {"BoundAudiences", {"drover"}}};
  const Json bad_all{{"aud", "x"}, {"iss", "x"}, {"exp", kNow - 1000}, {"nbf", kNow + 1000}, {"iat", kNow + 1000}};
  const auto signature = [](const std::string& text) { return "unable to verify signature of JWT token: " + text; };
  const struct {
    const char* name;
    Json config;
    std::string token, error;
  } cases[] = {
      {"no token", {}, "x", signature("the token does not have three parts")},
      {"none", {}, key_.token(claims(), "none"), signature("token signed with unexpected algorithm")},
      {"HS256 by the public key",
       {},
       key_.token(claims(), "HS256"),
       signature("token signed with unexpected algorithm")},
      {"another key", strict, other.token(claims(bad_all)), signature(kNoKey)},
      {"another algorithm", strict, key_.token(claims(bad_all), "PS256"),
       signature("token signed with unexpected algorithm")},
      {"no times", strict, key_.token(R"({"aud":"x","iss":"x"})"),
       signature("no issued at (iat), not before (nbf), or expiration time (exp) claims in token")},
      {"audience", strict, key_.token(claims(bad_all)),
       signature("audience claim does not match any expected audience")},
      {"not yet", strict, key_.token(claims({{"nbf", kNow + 61}, {"exp", kNow - 61}, {"iss", "x"}})),
       signature("token not yet valid")},
      {"expired", strict, key_.token(claims({{"exp", kNow - 61}, {"iat", kNow - 70}, {"iss", "x"}})),
       signature("token is expired")},
      {"future", strict, key_.token(claims({{"iat", kNow + 61}, {"nbf", 1}, {"iss", "x"}})),
       signature("token issued in the future")},
      {"issuer", strict, key_.token(claims({{"iss", "x"}})), "invalid JWT issuer: it is not one of BoundIssuer"},
      {"no issuer", strict, key_.token(R"({"aud":["a","drover"],"iat":1699999999})"),
       "invalid JWT issuer: the token has no issuer (iss) claim"},
      {"issuer of another kind", strict, key_.token(claims({{"iss", 5}})),
       "invalid JWT issuer: the issuer (iss) claim is no text"},
      {"claim of another kind",
       {{"ClaimMappings", {{"repo", "repo"}}}},
       key_.token(claims({{"repo", Json::object()}})),
       "error converting claim 'repo' to string"},
      {"a claim's time", {}, key_.token(claims({{"exp", "soon"}})), signature("the claim 'exp' is no time")},
      {"good", strict, key_.token(claims()), ""},
      {"by PS256, when it is configured", {{"SigningAlgs", {"PS256"}}}, key_.token(claims(), "PS256"), ""},
      {"less than a skew late", {}, key_.token(claims({{"exp", kNow - 60}})), ""},
      {"late without skew",
       {{"ClockSkewLeeway", -1}},
       key_.token(claims({{"exp", kNow - 1}})),
       signature("token is expired")},
      {"late with a larger one", {{"ClockSkewLeeway", "10m"}}, key_.token(claims({{"exp", kNow - 500}})), ""},
      {"without exp", {}, key_.token(R"({"iat":1699999790})"), ""},
      {"without exp, and old", {}, key_.token(R"({"iat":1699999789})"), signature("token is expired")},
      {"without exp, by another leeway",
       {{"ExpirationLeeway", "1s"}},
       key_.token(R"({"iat":1699999930})"),
       signature("token is expired")},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto who = login(with_key(c.config.is_null() ? Json::object() : c.config), c.token);
    EXPECT_EQ(who.status().message(), c.error);
    if (who.ok()) continue;
    EXPECT_EQ(who.status().code(), Code::unauthenticated);
  }
}

TEST_F(JwtLogin, TriesEachStaticKeyAndCertificatesToo) {
  const SigningKey ec(SigningKey::Kind::p256, "");
  const Json config{{"JWTValidationPubKeys", {key_.pem(), ec.pem()}}, {"SigningAlgs", {"RS256", "ES256"}}};
  EXPECT_TRUE(login(config, key_.token(claims())).ok());
  EXPECT_TRUE(login(config, ec.token(claims())).ok());
  EXPECT_FALSE(login(config, SigningKey(SigningKey::Kind::p256, "").token(claims())).ok());
}

std::string errors_of(const Json& config) {
  const ReadConfig read = read_config(config.is_string() ? config.get<std::string>() : config.dump());
  return auth::text_of(read.errors);
}

TEST(JwtConfig, NamesEveryError) {
  const SigningKey key(SigningKey::Kind::rsa, ""), small(SigningKey::Kind::small_rsa, "");
  const Json good{{"JWTValidationPubKeys", {key.pem()}}};
  const IdentityProvider sealed(true);
  const std::string ca = sealed.ca();
  const auto with = [&](const Json& over) {
    Json json = good;
    json.update(over);
    return json;
  };
  const struct {
    const char* name;
    Json config;
    std::string error;
  } cases[] = {
      {"good", good, ""},
      {"what clients write of what they do not use",
       with({{"OIDCClientID", ""},
             {"OIDCScopes", nullptr},
             {"JWKSURL", ""},
             {"ExpirationLeeway", "0s"},
             {"OIDCEnablePKCE", false},
             {"DiscoveryCaPem", Json::array()}}),
       ""},
      {"no source", Json::object(),
       "Config needs one of JWTValidationPubKeys, JWKSURL and OIDCDiscoveryURL: nothing can be verified without a key"},
      {"two sources", with({{"JWKSURL", "https://a/keys"}}),
       "Config has more than one of JWTValidationPubKeys, JWKSURL and OIDCDiscoveryURL: keys come from one place"},
      {"plain http",
       {{"JWKSURL", "http://id.example/keys"}},
       "JWKSURL: must begin with https:// (http:// on this machine only)"},
      {"no key",
       {{"JWTValidationPubKeys", {key.pem(), "x"}}},
       "JWTValidationPubKeys[1]: it is neither a public key nor a certificate in PEM"},
      {"a key that is no text", {{"JWTValidationPubKeys", {key.pem(), 1}}}, "JWTValidationPubKeys[1]: must be a text"},
      {"small key",
       {{"JWTValidationPubKeys", {small.pem()}}},
       "JWTValidationPubKeys[0]: an RSA key of 1024 bits; at least 2048 are needed"},
      {"several",
       with({{"SigningAlgs", {"RS256", "none", "HS256"}},
             {"ClockSkewLeeway", "x"},
             {"Typo", 1},
             {"VerboseLogging", true}}),
       "SigningAlgs[1]: must be RS, PS or ES with 256, 384 or 512, or EdDSA: \"none\" is not; "
       "SigningAlgs[2]: must be RS, PS or ES with 256, 384 or 512, or EdDSA: \"HS256\" is not; "
       "ClockSkewLeeway: must be a duration, such as \"30s\"; "
       "VerboseLogging: is not supported: claims are not written to logs; Typo: there is no such option"},
      {"of the other type", with({{"OIDCClientSecret", "hush"}}), "OIDCClientSecret: is an option of the type OIDC"},
      {"authorities", {{"JWKSURL", "https://a/keys"}, {"JWKSCACert", "x"}}, "JWKSCACert: must be a certificate in PEM"},
      {"authorities that cannot be read",
       {{"OIDCDiscoveryURL", "https://a"},
        {"DiscoveryCaPem", {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}}},
       "DiscoveryCaPem: must be a certificate in PEM"},
      {"authorities of nobody", with({{"JWKSCACert", ca}, {"DiscoveryCaPem", {ca}}}),
       "JWKSCACert: is for JWKSURL, which is not set; DiscoveryCaPem: is for OIDCDiscoveryURL, which is not set"},
      {"authorities, one of them cut short",
       {{"JWKSURL", "https://a/keys"}, {"JWKSCACert", ca + ca.substr(0, ca.size() / 2)}},
       "JWKSCACert: must be a certificate in PEM"},
      {"several authorities", {{"JWKSURL", "https://a/keys"}, {"JWKSCACert", ca + ca}}, ""},
      {"no JSON", "x",
       "Config is no JSON object; Config needs one of JWTValidationPubKeys, JWKSURL and OIDCDiscoveryURL: "
       "nothing can be verified without a key"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(errors_of(c.config), c.error);
  }
}

class RemoteKeys : public JwtLogin {
 protected:
  std::string outcome(const Json& config) { return login(config, provider_.key().token(claims())).status().message(); }

  IdentityProvider provider_;
};

TEST_F(RemoteKeys, ComeFromASetOrAnIssuer) {
  EXPECT_EQ(outcome({{"JWKSURL", provider_.issuer() + "/keys"}}), "");
  EXPECT_EQ(outcome({{"OIDCDiscoveryURL", provider_.issuer()}}), "");
  EXPECT_EQ(provider_.asked("/keys"), 1);  // one set, whoever asks
}

TEST_F(RemoteKeys, ComeByTlsFromTrustedProvidersOnly) {
  const IdentityProvider sealed(true), stranger(true);
  const auto by = [&](const std::string& ca) {
    return login({{"JWKSURL", sealed.issuer() + "/keys"}, {"JWKSCACert", ca}}, sealed.key().token(claims())).status();
  };
  EXPECT_EQ(by(sealed.ca()).message(), "");
  EXPECT_EQ(by(stranger.ca()).code(), Code::unavailable);
  const auto status = login({{"JWKSURL", sealed.issuer() + "/keys"}}, sealed.key().token(claims())).status();
  EXPECT_EQ(status.code(), Code::unavailable);
}

// A new key is found at once, a wrong one asks the provider once a minute at most.
TEST_F(RemoteKeys, AreFetchedAnewForAKeyThatIsNotKnown) {
  const Json config{{"JWKSURL", provider_.issuer() + "/keys"}};
  const SigningKey wrong(SigningKey::Kind::rsa, "unknown");
  const auto by_wrong = [&] { return login(config, wrong.token(claims())).status().message(); };
  EXPECT_EQ(outcome(config), "");
  EXPECT_NE(by_wrong(), "");
  EXPECT_EQ(provider_.asked("/keys"), 1);  // asked just now
  clock_.ahead += std::chrono::seconds(61);
  EXPECT_NE(by_wrong(), "");
  EXPECT_NE(by_wrong(), "");
  EXPECT_EQ(provider_.asked("/keys"), 2);
  provider_.set(R"({"rotated":true})");
  EXPECT_NE(outcome(config), "");
  clock_.ahead += std::chrono::seconds(61);
  EXPECT_EQ(outcome(config), "");
  EXPECT_EQ(provider_.asked("/keys"), 3);
}

// A key that a provider withdrew is trusted for an hour at most.
TEST_F(RemoteKeys, AreForgottenAfterAnHour) {
  const Json config{{"JWKSURL", provider_.issuer() + "/keys"}};
  const std::string token = provider_.key().token(claims());
  EXPECT_TRUE(login(config, token).ok());
  provider_.set(R"({"rotated":true})");
  EXPECT_TRUE(login(config, token).ok());
  clock_.ahead += std::chrono::hours(1);
  EXPECT_FALSE(login(config, token).ok());
}

TEST_F(RemoteKeys, CannotBeHadFromAProviderInTrouble) {
  const std::string issuer = provider_.issuer();
  const struct {
    const char* name;
    std::string switches, error;
  } cases[] = {
      {"broken", R"({"trouble":{"/keys":"500"}})", "its keys cannot be read: the provider answers 500"},
      {"long", R"({"trouble":{"/keys":"long"}})", "the answer is longer than 1048576 bytes"},
      {"a loop", R"({"trouble":{"/keys":"redirects"}})", "it redirects more than 3 times"},
      {"elsewhere", R"({"trouble":{"/keys":"elsewhere"}})", "it redirects to http://127.0.0.1:9"},
      {"another issuer", R"({"description":{"issuer":")" + issuer + R"(/"}})", "that of another issuer"},
      {"no keys", R"({"description":{"jwks_uri":null}})", "no good jwks_uri"},
      {"keys by plain http", R"({"description":{"jwks_uri":"http://id.example/"}})", "no good jwks_uri"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    JwtMethod fresh(clock_);
    provider_.set(c.switches);
    v1::AuthLoginRequest request;
    request.set_config(Json{{"OIDCDiscoveryURL", issuer}}.dump());
    request.set_token(provider_.key().token(claims()));
    const Status status = fresh.login(request, {}).status();
    EXPECT_NE(status.message().find(c.error), std::string::npos) << status.message();
    EXPECT_NE(status.code(), Code::unauthenticated);
  }
}

TEST_F(RemoteKeys, AreNotAskedForByEveryLoginWhileThereAreNone) {
  provider_.set(R"({"trouble":{"/keys":"500"}})");
  const Json config{{"JWKSURL", provider_.issuer() + "/keys"}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(outcome(config), "its keys cannot be read: the provider answers 500");
  EXPECT_EQ(provider_.asked("/keys"), 1);
  provider_.set("{}");
  clock_.ahead += std::chrono::seconds(10);
  EXPECT_EQ(outcome(config), "");
  EXPECT_EQ(provider_.asked("/keys"), 2);
}

// The description of one method's provider is, by mistake, the address of another method's keys.
TEST_F(RemoteKeys, AreNotThereWhereADescriptionIs) {
  const std::string issuer = provider_.issuer();
  const Json mistaken{{"JWKSURL", issuer + "/.well-known/openid-configuration"}};
  EXPECT_EQ(outcome({{"OIDCDiscoveryURL", issuer}}), "");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(outcome(mistaken), "the key set has no list \"keys\"");
}

TEST_F(RemoteKeys, AreNotWaitedForWhenNobodyWaitsForTheLogin) {
  provider_.set(R"({"trouble":{"/keys":"silence"}})");
  std::stop_source stop;
  v1::AuthLoginRequest request;
  request.set_config(Json{{"JWKSURL", provider_.issuer() + "/keys"}}.dump());
  request.set_token(provider_.key().token(claims()));
  std::jthread stopper([&] {
    while (provider_.asked("/keys") == 0) std::this_thread::yield();
    stop.request_stop();
  });
  EXPECT_EQ(method_.login(request, stop.get_token()).status().code(), Code::cancelled);
}

}  // namespace
}  // namespace drover::jwt
