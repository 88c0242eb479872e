// Logins with a browser, against a provider on this machine that misbehaves in every way that we know.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config.h"
#include "drover/auth_method.h"
#include "drover/v1/auth_method.pb.h"
#include "oidc_method.h"
#include "sdk/testing/identity_provider/provider.h"

namespace drover::oidc {
namespace {

using Json = nlohmann::json;
using testing::IdentityProvider;

constexpr const char* kRedirect = "http://localhost:4649/oidc/callback";
constexpr const char* kNonce = "a nonce of the client";
constexpr const char* kState = "a state of the host";

class OidcLogin : public ::testing::Test {
 protected:
  Json config(const Json& over = Json::object()) const {
    Json json{{"OIDCDiscoveryURL", provider_.issuer()},     {"OIDCClientID", testing::kClientId},
              {"OIDCClientSecret", testing::kClientSecret}, {"AllowedRedirectURIs", {kRedirect}},
              {"ClaimMappings", {{"email", "mail"}}},       {"ListClaimMappings", {{"groups", "groups"}}}};
    json.update(over);
    return json;
  }
  Result<v1::StartAuthLoginResponse> start(const Json& config, const std::string& redirect = kRedirect) {
    v1::StartAuthLoginRequest request;
    request.set_config(config.dump());
    request.set_redirect_uri(redirect);
    request.set_client_nonce(kNonce);
    request.set_state(kState);
    return method_->start_login(request, {});
  }
  Result<v1::AuthIdentity> complete(const Json& config, const std::string& kept, const std::string& code,
                                    const std::string& nonce = kNonce) {
    v1::CompleteAuthLoginRequest request;
    request.set_config(config.dump());
    request.set_redirect_uri(kRedirect);
    request.set_client_nonce(nonce);
    request.set_state(kState);
    request.set_kept(kept);
    request.set_code(code);
    return method_->complete_login(request, {});
  }
  // All of it, as a person does it.
  Result<v1::AuthIdentity> login(const Json& config) {
    DROVER_TRY(const auto started, start(config));
    DROVER_TRY(auto brought, IdentityProvider::visit(started.auth_url()));
    EXPECT_EQ(brought["state"], kState);
    return complete(config, started.kept(), brought["code"]);
  }

  IdentityProvider provider_;
  std::unique_ptr<OidcMethod> method_ = std::make_unique<OidcMethod>();
};

TEST_F(OidcLogin, TellsWhoSomebodyIs) {
  const auto who = login(config());
  ASSERT_TRUE(who.ok()) << who.status().message();
  EXPECT_EQ(who->subject(), testing::kSubject);
  EXPECT_EQ(who->claims().at("mail"), "Ada@Example.COM");
  EXPECT_EQ(who->list_claims().at("groups").values_size(), 2);  // from userinfo
}

TEST_F(OidcLogin, BeginsAtTheProvider) {
  const auto started = start(config({{"OIDCScopes", {"groups", "email"}}}));
  ASSERT_TRUE(started.ok()) << started.status().message();
  const std::string& url = started->auth_url();
  EXPECT_TRUE(url.starts_with(provider_.issuer() + "/authorize?"));
  auto query = testing::read_form(url.substr(url.find('?') + 1));
  EXPECT_EQ(query["client_id"], testing::kClientId);
  EXPECT_EQ(query["nonce"], kNonce);
  EXPECT_EQ(query["redirect_uri"], kRedirect);
  EXPECT_EQ(query["response_type"], "code");
  EXPECT_EQ(query["scope"], "openid groups email");
  EXPECT_EQ(query["state"], kState);
  EXPECT_EQ(query["code_challenge"].size(), 43u);
  EXPECT_EQ(query["code_challenge_method"], "S256");
  EXPECT_EQ(url.find(started->kept().substr(7)), std::string::npos);
}

TEST_F(OidcLogin, UsesPkceUnlessItIsSwitchedOff) {
  const auto has_challenge = [&](const Json& over) {
    const auto started = start(config(over));
    EXPECT_TRUE(started.ok()) << started.status().message();
    return started.ok() && started->auth_url().find("code_challenge=") != std::string::npos;
  };
  EXPECT_TRUE(has_challenge(Json::object()));
  EXPECT_TRUE(has_challenge({{"OIDCEnablePKCE", true}}));
  EXPECT_TRUE(has_challenge({{"OIDCEnablePKCE", false}})) << "clients write it so without meaning it";
  EXPECT_TRUE(has_challenge({{"OIDCDisablePKCE", false}}));
  EXPECT_FALSE(has_challenge({{"OIDCEnablePKCE", false}, {"OIDCDisablePKCE", true}}));
}

TEST_F(OidcLogin, KeepsAQueryOfTheProvidersAddress) {
  provider_.set(R"({"description":{"authorization_endpoint":")" + provider_.issuer() + R"(/authorize?tenant=1"}})");
  EXPECT_NE(start(config())->auth_url().find("/authorize?tenant=1&client_id="), std::string::npos);
}

TEST_F(OidcLogin, GoesInTheseWays) {
  const struct {
    const char* name;
    Json over;
    const char* switches;
  } cases[] = {{"without PKCE", {{"OIDCDisablePKCE", true}}, "{}"},
               {"the secret in the form", {}, R"({"posts":true})"},
               {"without userinfo", {{"OIDCDisableUserInfo", true}}, R"({"trouble":{"/userinfo":"500"}})"},
               {"a provider without userinfo", {}, R"({"description":{"userinfo_endpoint":null}})"},
               {"by PS256", {{"SigningAlgs", {"PS256"}}}, R"({"algorithm":"PS256"})"},
               {"another audience that is bound", {{"BoundAudiences", {"all"}}}, R"({"claims":{"aud":"all"}})"},
               {"several audiences", {}, R"({"claims":{"aud":["all","drover"],"azp":"drover"}})"},
               {"without hashes", {}, R"({"claims":{"at_hash":null,"c_hash":null}})"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    provider_.set(c.switches);
    method_ = std::make_unique<OidcMethod>();
    const auto who = login(config(c.over.is_null() ? Json::object() : c.over));
    EXPECT_EQ(who.status().message(), "");
  }
}

TEST_F(OidcLogin, GoesByTls) {
  const IdentityProvider sealed(true);
  const Json good = config({{"OIDCDiscoveryURL", sealed.issuer()}, {"DiscoveryCaPem", {sealed.ca()}}});
  EXPECT_EQ(start(good).status().message(), "");
  const Status status = start(config({{"OIDCDiscoveryURL", sealed.issuer()}})).status();
  EXPECT_TRUE(status.message().starts_with("failed to generate OIDC provider: ")) << status.message();
}

TEST_F(OidcLogin, IsRefusedToOthers) {
  const struct {
    const char* name;
    const char* switches;
    const char* error;
  } cases[] = {
      {"issuer", R"({"claims":{"iss":"https://evil.example"}})", "it is from another issuer"},
      {"audience", R"({"claims":{"aud":"another"}})", "it is meant for another client"},
      {"no audience", R"({"claims":{"aud":null}})", "it has no audience (aud)"},
      {"party", R"({"claims":{"azp":"another"}})", "it is issued to another client (azp)"},
      {"several audiences without party", R"({"claims":{"aud":["all","drover"]}})", "several audiences"},
      {"nonce", R"({"claims":{"nonce":"another"}})", "it belongs to another login (nonce)"},
      {"no nonce", R"({"claims":{"nonce":null}})", "it belongs to another login (nonce)"},
      {"access token", R"({"claims":{"at_hash":"AAAA"}})", "it belongs to another access token (at_hash)"},
      {"code", R"({"claims":{"c_hash":"AAAA"}})", "it belongs to another code (c_hash)"},
      {"expired", R"({"claims":{"exp":1000}})", "it is expired"},
      {"no end", R"({"claims":{"exp":null}})", "it has no expiration time (exp)"},
      {"from the future", R"({"claims":{"iat":9000000000}})", "it is issued in the future"},
      {"not valid yet", R"({"claims":{"nbf":9000000000}})", "it is not valid yet"},
      {"a time that is none", R"({"claims":{"exp":"soon"}})", "it has a time that is none"},
      {"no subject", R"({"claims":{"sub":null}})", "it has no subject (sub)"},
      {"empty subject", R"({"claims":{"sub":""}})", "it has no subject (sub)"},
      {"none", R"({"algorithm":"none"})", "token signed with unexpected algorithm"},
      {"HS256", R"({"algorithm":"HS256"})", "token signed with unexpected algorithm"},
      {"PS256", R"({"algorithm":"PS256"})", "an algorithm that is none of SigningAlgs"},
      {"unknown key", R"({"kid":"unknown"})", "no key of the provider signed it"},
      {"another's userinfo", R"({"userinfo":{"sub":"eve"}})", "userinfo is that of another subject"},
      {"userinfo of nobody", R"({"userinfo":{"sub":null}})", "userinfo is that of another subject"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    provider_.set(c.switches);
    const auto who = login(config());
    EXPECT_EQ(who.status().code(), Code::unauthenticated);
    EXPECT_NE(who.status().message().find(c.error), std::string::npos) << who.status().message();
  }
}

TEST_F(OidcLogin, FailsWithAProviderInTrouble) {
  const std::string issuer = provider_.issuer();
  const char* const kStart = "failed to generate OIDC provider: ";
  const char* const kExchange = "failed to exchange token with provider: ";
  const struct {
    const char* name;
    std::string switches, error;
  } cases[] = {
      {"no description", R"({"trouble":{"/.well-known/openid-configuration":"500"}})", kStart},
      {"a slash at the end", R"({"description":{"issuer":")" + issuer + R"(/"}})", kStart},
      {"no endpoint", R"({"description":{"authorization_endpoint":null}})", kStart},
      {"a bad endpoint", R"({"description":{"authorization_endpoint":"ftp://id.example/"}})", kStart},
      {"no keys", R"({"trouble":{"/keys":"500"}})", kStart},
      {"no token", R"({"trouble":{"/token":"500"}})", kExchange},
      {"10 MiB", R"({"trouble":{"/token":"long"}})", kExchange},
      {"a redirect with secrets", R"({"trouble":{"/token":"redirects"}})",
       "it redirects a request that carries secrets"},
      {"userinfo", R"({"trouble":{"/userinfo":"500"}})", "userinfo cannot be had: the provider answers 500"},
      {"userinfo elsewhere", R"({"trouble":{"/userinfo":"elsewhere"}})", "it redirects to http://127.0.0.1:9"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    provider_.set(c.switches);
    method_ = std::make_unique<OidcMethod>();
    const Status status = login(config()).status();
    EXPECT_NE(status.code(), Code::ok);
    EXPECT_NE(status.code(), Code::unauthenticated);
    EXPECT_NE(status.message().find(c.error), std::string::npos) << status.message();
  }
}

TEST_F(OidcLogin, TakesACodeOnceAndFromWhoBeganIt) {
  const auto started = start(config());
  auto brought = IdentityProvider::visit(started->auth_url());
  const auto code = (*brought)["code"];
  const auto other = start(config());
  EXPECT_EQ(complete(config(), other->kept(), code).status().message(), "the provider does not know the code");  // PKCE
  brought = IdentityProvider::visit(started->auth_url());
  const auto next = (*brought)["code"];
  EXPECT_TRUE(complete(config(), started->kept(), next).ok());
  EXPECT_EQ(complete(config(), started->kept(), next).status().code(), Code::unauthenticated);
  for (const char* kept : {"", "something else", "oidc-1:", "oidc-1:AAAA", "oidc-1:no base64url!"})
    EXPECT_EQ(complete(config(), kept, "x").status().message(), "the login was not begun here") << kept;
}

TEST_F(OidcLogin, TellsTheProvidersNoToTheBrowser) {
  provider_.set(R"({"denies":true})");
  auto brought = IdentityProvider::visit(start(config())->auth_url());
  ASSERT_TRUE(brought.ok());
  EXPECT_EQ((*brought)["error"], "access_denied");
}

TEST_F(OidcLogin, NeedsTheRightSecret) {
  const Status status = login(config({{"OIDCClientSecret", "wrong"}})).status();
  EXPECT_EQ(status.message(), "failed to exchange token with provider: it answers 401, invalid_client");
}

TEST_F(OidcLogin, RemembersTheProvider) {
  EXPECT_TRUE(login(config()).ok());
  EXPECT_TRUE(login(config()).ok());
  EXPECT_EQ(provider_.asked("/.well-known/openid-configuration"), 1);
  EXPECT_EQ(provider_.asked("/keys"), 1);
}

TEST(Redirects, AreThoseThatAreAllowed) {
  Config config;
  config.redirects = {"https://a.example/cb", "http://localhost:4649/oidc/callback", "http://[::1]:1/cb"};
  const struct {
    const char* uri;
    bool is_allowed;
  } cases[] = {{"https://a.example/cb", true},
               {"https://a.example:444/cb", false},
               {"https://a.example/cb/", false},
               {"https://a.example/cb?x=1", false},
               {"http://a.example/cb", false},
               {"http://localhost:4649/oidc/callback", true},
               {"http://localhost:9/oidc/callback", true},
               {"http://localhost/oidc/callback", true},
               {"https://localhost:9/oidc/callback", false},
               {"http://127.0.0.1:4649/oidc/callback", false},
               {"http://localhost:9@evil.example/oidc/callback", false},
               {"http://localhost.evil.example:9/oidc/callback", false},
               {"http://localhost:9/other", false},
               {"http://[::1]:2/cb", true},
               {"http://[::2]:1/cb", false},
               {"", false}};
  for (const auto& c : cases) EXPECT_EQ(may_return_to(config, c.uri), c.is_allowed) << c.uri;
}

TEST(OidcConfig, NamesEveryError) {
  const Json good{{"OIDCDiscoveryURL", "https://id.example"},
                  {"OIDCClientID", "drover"},
                  {"AllowedRedirectURIs", {"https://a/cb"}}};
  const auto errors_of = [&](const Json& over) {
    Json json = good;
    json.update(over);
    return auth::text_of(read_config(json.dump()).errors);
  };
  EXPECT_EQ(errors_of(Json::object()), "");
  EXPECT_EQ(errors_of({{"OIDCEnablePKCE", true}, {"OIDCDisablePKCE", true}}),
            "OIDCDisablePKCE: contradicts OIDCEnablePKCE");
  EXPECT_EQ(auth::text_of(read_config("{}").errors),
            "missing OIDCDiscoveryURL; missing OIDCClientID; missing AllowedRedirectURIs");
  EXPECT_EQ(
      errors_of({{"OIDCDiscoveryURL", "http://id.example"},
                 {"AllowedRedirectURIs", {"ftp://x"}},
                 {"BoundIssuer", {"x"}},
                 {"OIDCClientAssertion", {{"KeySource", "nomad"}}},
                 {"DiscoveryCaPem", {"x"}},
                 {"Typo", 1}}),
      "OIDCDiscoveryURL: must begin with https:// (http:// on this machine only); DiscoveryCaPem: must be a "
      "certificate in PEM; OIDCClientAssertion.KeySource: nomad is not supported: the cluster's root keys sign "
      "identities only; use private_key; AllowedRedirectURIs[0]: must begin with https:// or http://; BoundIssuer: is "
      "an option of the type JWT; Typo: there is no such option");
}

}  // namespace
}  // namespace drover::oidc
