#include "drover/claims.h"

#include <gtest/gtest.h>

#include "drover/auth_config.h"
#include "drover/auth_method.h"
#include "drover/provider.h"
#include "drover/v1/auth_method.pb.h"

namespace drover::jose {
namespace {

Claims claims_of(std::string_view json) {
  auto claims = Claims::parse(json);
  EXPECT_TRUE(claims.ok()) << json;
  return claims.ok() ? *claims : *Claims::parse("{}");
}

TEST(Claims, BecomeTexts) {
  const Claims claims =
      claims_of(R"({"a":"x","b":true,"n":3,"f":3.9,"m":-3.9,"big":1e300,"z":null,"o":{"p":{"q/r":"deep"}},
                                      "l":["one","",2],"/s":"slash"})");
  const struct {
    const char* claim;
    const char* value;  // null: absent
    bool is_good = true;
  } cases[] = {{"a", "x"},
               {"b", "true"},
               {"n", "3"},
               {"f", "3"},
               {"m", "-3"},
               {"z", nullptr},
               {"nothing", nullptr},
               {"/a", "x"},
               {"/o/p/q~1r", "deep"},
               {"/l/0", "one"},
               {"/l/9", nullptr},
               {"/l/x", nullptr},
               {"/~1s", "slash"},
               {"o", nullptr, false},
               {"big", nullptr, false},
               {"l", nullptr, false},
               {"/o/p", nullptr, false},
               {"/", nullptr}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.claim);
    const auto value = claims.value(c.claim);
    ASSERT_EQ(value.ok(), c.is_good);
    if (!value.ok()) {
      EXPECT_EQ(value.status().message(), std::string("error converting claim '") + c.claim + "' to string");
    } else {
      EXPECT_EQ(*value, c.value ? std::optional<std::string>(c.value) : std::nullopt);
    }
  }
}

TEST(Claims, BecomeLists) {
  const Claims claims = claims_of(R"({"one":"x","many":["a","",true,7],"empty":[],"bad":["a",{}]})");
  EXPECT_EQ(**claims.list("one"), (std::vector<std::string>{"x"}));
  EXPECT_EQ(**claims.list("many"), (std::vector<std::string>{"a", "true", "7"}));
  EXPECT_TRUE((*claims.list("empty"))->empty());
  EXPECT_FALSE(claims.list("absent")->has_value());
  EXPECT_FALSE(claims.list("bad").ok());
}

TEST(Claims, AreMappedToNames) {
  v1::AuthIdentity who;
  const Claims claims = claims_of(R"({"email":"a@b","groups":["x","y"]})");
  ASSERT_TRUE(
      map_claims(claims, {.values = {{"email", "mail"}, {"none", "none"}}, .lists = {{"groups", "teams"}}}, who).ok());
  EXPECT_EQ(who.claims().size(), 1u);
  EXPECT_EQ(who.claims().at("mail"), "a@b");
  EXPECT_EQ(who.list_claims().at("teams").values_size(), 2);
}

TEST(Claims, OfUserinfoStandOverOthersButForWhoItIs) {
  const Claims joined =
      claims_of(R"({"iss":"i","sub":"s","a":"1"})").with(claims_of(R"({"iss":"j","sub":"t","a":"2","b":"3"})"));
  EXPECT_EQ(joined.text("iss"), "i");
  EXPECT_EQ(joined.text("sub"), "s");
  EXPECT_EQ(joined.text("a"), "2");
  EXPECT_EQ(joined.text("b"), "3");
}

TEST(Claims, HaveTimesThatAreNumbers) {
  const Claims claims = claims_of(R"({"a":5,"b":"5","c":5.9,"d":1e30,"e":5.0,"f":null,"g":-5.9,"h":true})");
  for (const char* five : {"a", "c", "e"}) EXPECT_EQ(**claims.time(five), 5) << five;
  EXPECT_EQ(**claims.time("g"), -5);
  for (const char* absent : {"absent", "f"}) EXPECT_FALSE(claims.time(absent)->has_value()) << absent;
  for (const char* wrong : {"b", "d", "h"}) EXPECT_FALSE(claims.time(wrong).ok()) << wrong;
}

// A time that is absent is made up from those that are there; the leeways are for that alone, the skew for all.
TEST(TokenTimes, AreChecked) {
  constexpr int64_t now = 1'000'000;
  const struct {
    const char* name;
    std::string claims;
    const char* error;
  } cases[] = {
      {"none", "{}", "no issued at (iat), not before (nbf), or expiration time (exp) claims in token"},
      {"all good", R"({"iat":999990,"nbf":999990,"exp":1000010})", ""},
      {"expired within the skew", R"({"exp":999940})", ""},
      {"expired", R"({"exp":999939})", "token is expired"},
      {"not yet, within the skew", R"({"nbf":1000060,"exp":1000100})", ""},
      {"not yet", R"({"nbf":1000061,"exp":1000100})", "token not yet valid"},
      {"from the future, within the skew", R"({"iat":1000060,"nbf":1,"exp":1000100})", ""},
      {"from the future", R"({"iat":1000061,"nbf":1,"exp":1000100})", "token issued in the future"},
      {"iat alone lives for the leeway", R"({"iat":999790})", ""},
      {"and ends", R"({"iat":999789})", "token is expired"},
      {"the later of iat and nbf counts", R"({"iat":1,"nbf":999790})", ""},
      {"exp alone begins before", R"({"exp":1000210})", ""},
      {"by its leeway", R"({"exp":1000211})", "token not yet valid"},
      {"no number", R"({"exp":"soon"})", "the claim 'exp' is no time"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto times = times_of(claims_of(c.claims), {});
    const Status status = times.ok() ? check_times(*times, {}, now) : times.status();
    EXPECT_EQ(status.message(), c.error);
  }
}

TEST(AuthConfig, NamesEverythingThatIsWrong) {
  auth::ConfigReader config(R"({"URL":"http://id.example","List":["a",1],"Map":{"a":1},"Time":"soon","Flag":"yes",
                                "Typo":1,"Absent":null,"Empty":[],"Other":{"a":1},"Text":7})");
  EXPECT_EQ(config.url("URL"), "http://id.example");
  EXPECT_EQ(config.texts("List").size(), 1u);
  EXPECT_TRUE(config.text_map("Map").empty());
  EXPECT_FALSE(config.duration("Time"));
  EXPECT_FALSE(config.flag("Flag"));
  EXPECT_EQ(config.text("Text"), "");
  EXPECT_EQ(config.text("Must", auth::Need::must), "");
  config.refuse("Other", "is another's");
  config.refuse("Empty", "is another's");
  EXPECT_EQ(auth::text_of(config.finish()),
            "URL: must begin with https:// (http:// on this machine only); List[1]: must be a text; "
            "Map.a: must be a text that is not empty; Time: must be a duration, such as \"30s\"; "
            "Flag: must be true or false; Text: must be a text; missing Must; Other: is another's; "
            "Typo: there is no such option");
}

TEST(AuthConfig, TrustsPlainHttpOnThisMachineOnly) {
  const struct {
    const char* url;
    bool is_good;
  } cases[] = {{"https://id.example/x", true},
               {"http://localhost", true},
               {"http://localhost:80/x", true},
               {"http://127.0.0.1:8080/x", true},
               {"http://[::1]:80/", true},
               {"http://[::1]", true},
               {"http://id.example", false},
               {"http://localhost.evil", false},
               {"http://localhost@evil/", false},
               {"http://127.0.0.1.evil", false},
               {"http://[::1]evil", false},
               {"ftp://localhost", false},
               {"https://", false},
               {"", false},
               {"file:///etc/passwd", false},
               {"http://evil#localhost", false},
               {"http://localhost\\@evil", false}};
  for (const auto& c : cases) EXPECT_EQ(auth::is_trusted_url(c.url), c.is_good) << c.url;
}

TEST(Provider, IsDescribedByItself) {
  const auto good = provider::parse_description(
      R"({"issuer":"https://i","jwks_uri":"https://i/keys","token_endpoint_auth_methods_supported":["client_secret_post"]})",
      "https://i");
  ASSERT_TRUE(good.ok()) << good.status().message();
  EXPECT_FALSE(good->takes_basic);
  for (const char* wrong : {"{}", "[]", R"({"issuer":"https://i/","jwks_uri":"https://i/keys"})",
                            R"({"issuer":"https://i","jwks_uri":"http://i/keys"})", R"({"issuer":"https://i"})"})
    EXPECT_FALSE(provider::parse_description(wrong, "https://i").ok()) << wrong;
}

TEST(Provider, ByHttpsNamesNoAddressByHttp) {
  for (const std::string name : {"authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"}) {
    const auto described = [&](const std::string& issuer, const std::string& url) {
      const std::string others = name == "jwks_uri" ? "" : R"(,"jwks_uri":")" + issuer + R"(/keys")";
      return provider::parse_description(
          R"({"issuer":")" + issuer + R"(",")" + name + R"(":")" + url + R"(")" + others + "}", issuer);
    };
    EXPECT_TRUE(described("https://i", "https://other/").ok()) << name;
    EXPECT_TRUE(described("http://localhost", "http://localhost/").ok()) << name;
    EXPECT_EQ(described("https://i", "http://localhost/").status().message(),
              "the provider's description has a " + name + " that is not by https");
  }
}


}  // namespace
}  // namespace drover::jose
