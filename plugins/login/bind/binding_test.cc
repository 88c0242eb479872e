// Binding rules: selectors, names with places in them, and what comes of several.
#include "bind/binding.h"

#include <gtest/gtest.h>

#include "bind/form.h"
#include "drover/api/logins.pb.h"
#include "drover/v1/auth_method.pb.h"

namespace drover::login {
namespace {

v1::AuthIdentity ada() {
  v1::AuthIdentity who;
  who.set_subject("ada");
  auto& claims = *who.mutable_claims();
  claims["name"] = "Alice";
  claims["n"] = "7";
  claims["team"] = "Web-Team";
  claims["odd"] = "a b";
  claims["empty"] = "";
  for (const char* group : {"engineers", "on-call"}) (*who.mutable_list_claims())["groups"].add_values(group);
  return who;
}

v1::AclBindingRule rule(const std::string& selector, const std::string& type, const std::string& name) {
  v1::AclBindingRule out;
  out.set_auth_method("m");
  out.set_selector(selector);
  out.set_bind_type(type);
  out.set_bind_name(name);
  return out;
}

TEST(Selectors, SelectAsTheApiSays) {
  const struct {
    const char* selector;
    bool selects;
  } cases[] = {
      {"", true},
      {"value.name == \"Alice\"", true},
      {"value.name == Alice", true},  // unquoted words are values
      {"value.name == \"alice\"", false},
      {"value.name != \"Bob\"", true},
      {"value.absent == \"a\"", false},
      {"value.absent != \"a\"", true},
      {"value.absent is empty", true},
      {"value.absent is not empty", false},
      {"value.empty is empty", true},
      {"value.absent matches \".*\"", false},
      {"value.name matches \"^Al\"", true},
      {"value.n == 7", true},  // texts
      {"value.n == \"07\"", false},
      {"\"engineers\" in list.groups", true},
      {"\"others\" in list.groups", false},
      {"\"others\" not in list.groups", true},
      {"\"a\" in list.absent", false},
      {"list.absent is empty", true},
      {"list.groups contains \"on-call\"", true},
      {"value.name == Alice and \"engineers\" in list.groups", true},
      {"value.name == Bob or \"engineers\" in list.groups", true},
      {"not value.name == Bob", true},
      {"foo.x == \"a\"", false},  // cannot be evaluated
      {"foo.x != \"a\"", false},
      {"value.name.deeper == \"a\"", false},
      {"value.name in list.groups", false},
      {"value == \"a\"", false},
      {"name in value", true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.selector);
    const std::vector rules = {rule(c.selector, "policy", "p")};
    const auto bound = bind_rights(rules, ada(), {});
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_EQ(bound->policies.contains("p"), c.selects);
  }
}

TEST(BindNames, TakeValuesInLowerCase) {
  const struct {
    const char* name;
    const char* result;  // null: an error
    const char* error = "";
  } cases[] = {
      {"ops", "ops"},
      {"OPS", "OPS"},  // literal text stays
      {"${value.team}", "web-team"},
      {"X-${value.name}-${ value.n }", "X-alice-7"},
      {"a-${value.mapped}", "a-"},
      {"${value.mapped}", nullptr, "computed \"role\" bind name for bind target is invalid: \"\""},
      {"${value.odd}", nullptr, "computed \"role\" bind name for bind target is invalid: \"a b\""},
      {"${value.absent}", nullptr,
       "cannot compute \"role\" bind name for bind target: unknown variable accessed: value.absent"},
      {"${list.groups}", nullptr, "cannot compute \"role\" bind name for bind target: unknown variable accessed"},
      {"${name}", nullptr, "unknown variable accessed: name"},
      {"${value.name", nullptr, "expected } to end ${"},
      {"${}", nullptr, "\"\" is no name of a value"},
      {"${upper(value.name)}", nullptr, "\"upper(value.name)\" is no name of a value"},
      {"$${value.name}", nullptr, "computed \"role\" bind name for bind target is invalid: \"${value.name}\""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const std::vector rules = {rule("", "role", c.name)};
    const auto bound = bind_rights(rules, ada(), {"mapped"});
    ASSERT_EQ(bound.ok(), c.result != nullptr) << bound.status().message();
    if (bound.ok()) {
      EXPECT_EQ(bound->roles, std::set<std::string>{c.result});
    } else {
      EXPECT_EQ(bound.status().code(), Code::internal);
      EXPECT_NE(bound.status().message().find(c.error), std::string::npos) << bound.status().message();
    }
  }
}

TEST(Rules, AddUpAndManagementStandsForAll) {
  const std::vector several = {rule("", "policy", "a"), rule("value.n == 7", "policy", "b"), rule("", "role", "r"),
                               rule("value.n == 8", "role", "no"), rule("", "policy", "a")};
  EXPECT_EQ(*bind_rights(several, ada(), {}), (Bound{.policies = {"a", "b"}, .roles = {"r"}}));
  const std::vector managed = {rule("", "policy", "a"), rule("value.n == 7", "management", ""),
                               rule("", "role", "${value.absent}")};
  EXPECT_EQ(*bind_rights(managed, ada(), {}), (Bound{.is_management = true}));
  EXPECT_EQ(*bind_rights({}, ada(), {}), Bound());
  // One bad rule fails the login, where it selects.
  const std::vector bad = {rule("", "policy", "a"), rule("", "role", "${value.absent}")};
  EXPECT_FALSE(bind_rights(bad, ada(), {}).ok());
  const std::vector unselected = {rule("", "policy", "a"), rule("value.n == 8", "role", "${value.absent}")};
  EXPECT_TRUE(bind_rights(unselected, ada(), {}).ok());
}

TEST(TokenNames, AreOfTypeAndMethod) {
  v1::AclAuthMethod method;
  method.set_name("company");
  method.set_type("OIDC");
  EXPECT_EQ(*token_name(method, ada()), "OIDC-company");
  method.set_token_name_format("${auth_method_name}/${value.name} by ${auth_method_type}");
  EXPECT_EQ(*token_name(method, ada()), "company/Alice by OIDC");
  method.set_token_name_format("${value.absent}");
  EXPECT_EQ(token_name(method, ada()).status().code(), Code::internal);
}

TEST(MappedNames, AreThoseOfTheConfig) {
  EXPECT_EQ(mapped_names(R"({"ClaimMappings":{"a":"x","b":"y"},"Other":1})"), (std::set<std::string>{"x", "y"}));
  for (const char* none : {"", "{}", "[]", R"({"ClaimMappings":[1]})", R"({"ClaimMappings":{"a":1}})"})
    EXPECT_TRUE(mapped_names(none).empty()) << none;
}

}  // namespace
}  // namespace drover::login
