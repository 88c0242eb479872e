#include "rules.h"

#include <gtest/gtest.h>

#include "drover/api/logins.pb.h"

namespace drover::login {
namespace {

using namespace std::chrono_literals;

v1::AclAuthMethod good_method() {
  v1::AclAuthMethod method;
  method.set_name("company");
  method.set_type("JWT");
  method.set_token_locality("local");
  method.set_max_token_ttl(std::chrono::nanoseconds(1h).count());
  return method;
}

TEST(AuthMethods, AreCheckedInOneGo) {
  const struct {
    const char* name;
    void (*change)(v1::AclAuthMethod& method);
    const char* error;
  } cases[] = {
      {"good", [](v1::AclAuthMethod&) {}, ""},
      {"name", [](v1::AclAuthMethod& m) { m.set_name("a b"); }, "invalid name 'a b'"},
      {"no name", [](v1::AclAuthMethod& m) { m.set_name(""); }, "invalid name ''"},
      {"long name", [](v1::AclAuthMethod& m) { m.set_name(std::string(129, 'x')); }, "invalid name 'xxx"},
      {"locality", [](v1::AclAuthMethod& m) { m.set_token_locality("moon"); }, "invalid token locality 'moon'"},
      {"no life", [](v1::AclAuthMethod& m) { m.set_max_token_ttl(0); },
       "invalid MaxTokenTTL value '0s' (should be between 1m0s and 24h0m0s)"},
      {"long life", [](v1::AclAuthMethod& m) { m.set_max_token_ttl(std::chrono::nanoseconds(25h).count()); },
       "invalid MaxTokenTTL value '25h0m0s' (should be between 1m0s and 24h0m0s)"},
      {"name format", [](v1::AclAuthMethod& m) { m.set_token_name_format("${x"); },
       "token name format is invalid: expected } to end ${"},
      {"two", [](v1::AclAuthMethod& m) { m.set_name("?"), m.set_token_locality(""); },
       "invalid name '?'; invalid token locality ''"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    v1::AclAuthMethod method = good_method();
    c.change(method);
    const Status status = check_method(method, {}, true, "");
    EXPECT_EQ(status.ok(), *c.error == '\0');
    if (status.ok()) continue;
    EXPECT_TRUE(status.message().starts_with(std::string("auth method 0 invalid: ") + c.error)) << status.message();
  }
  EXPECT_EQ(check_method(good_method(), {}, false, "").message(), "auth method 0 invalid: invalid token type 'JWT'");
  EXPECT_TRUE(check_method(good_method(), {}, true, "other").ok());
  v1::AclAuthMethod second = good_method();
  second.set_default_(true);
  EXPECT_EQ(check_method(second, {}, true, "other").message(),
            "auth method 0 invalid: default method already exists: other");
}

TEST(AuthMethods, KeepWhatIsNotSaidAgain) {
  v1::AclAuthMethod stored = good_method(), said;
  stored.set_config("{}");
  said.set_name("company");
  complete_method(said, stored);
  EXPECT_EQ(said.SerializeAsString(), stored.SerializeAsString());
}

TEST(BindingRules, AreCheckedInOneGo) {
  const struct {
    const char *method, *selector, *type, *name;
    const char* error;
  } cases[] = {
      {"m", "", "role", "ops", ""},
      {"m", "value.a == \"b\"", "policy", "${value.a}", ""},
      {"m", "", "management", "", ""},
      {"", "", "role", "ops", "auth method is missing"},
      {"m", "", "", "ops", "bind type is missing"},
      {"m", "", "role", "", "bind name is missing"},
      {"m", "", "management", "x", "bind name should be empty"},
      {"m", "", "king", "x", "unsupported bind type: \"king\""},
      {"m", "a ==", "role", "x", "selector is invalid: "},
      {"m", "", "role", "${x", "bind name is invalid: expected } to end ${"},
      {"", "", "", "", "auth method is missing; bind type is missing; bind name is missing"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.error);
    v1::AclBindingRule rule;
    rule.set_auth_method(c.method);
    rule.set_selector(c.selector);
    rule.set_bind_type(c.type);
    rule.set_bind_name(c.name);
    const Status status = check_rule(rule);
    EXPECT_EQ(status.ok(), *c.error == '\0') << status.message();
    EXPECT_TRUE(status.ok() || status.message().starts_with(std::string("binding rule 0 invalid: ") + c.error))
        << status.message();
    rule.set_description(std::string(257, 'x'));
    EXPECT_NE(check_rule(rule).message().find("description longer than 256"), std::string::npos);
  }
}

}  // namespace
}  // namespace drover::login
