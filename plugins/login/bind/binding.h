// The rights of somebody who has logged in: by the binding rules of the method, from the claims of that person. Pure.
#pragma once

#include <set>
#include <span>
#include <string>

#include "drover/result.h"

namespace drover::v1 {
class AclAuthMethod;
class AclBindingRule;
class AuthIdentity;
}  // namespace drover::v1

namespace drover::login {

struct Bound {
  bool is_management = false;             // everything, and so the rest is empty
  std::set<std::string> policies, roles;  // names; they need not exist

  friend bool operator==(const Bound&, const Bound&) = default;
};

// The names that the Config's ClaimMappings give: such a claim may be absent, and is then an empty text.
std::set<std::string> mapped_names(const std::string& config);

// The rules in the order of their identifiers. A selector that cannot be evaluated selects nobody. Errors: internal
// `cannot compute "policy" bind name for bind target: …`, `computed "policy" bind name for bind target is invalid: …`:
// one bad rule that selects fails the login.
Result<Bound> bind_rights(std::span<const v1::AclBindingRule> rules, const v1::AuthIdentity& identity,
                          const std::set<std::string>& mapped);

// "OIDC-company", or by the method's TokenNameFormat with ${auth_method_type}, ${auth_method_name} and ${value.NAME}.
// Errors: internal.
Result<std::string> token_name(const v1::AclAuthMethod& method, const v1::AuthIdentity& identity);

}  // namespace drover::login
