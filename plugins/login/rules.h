// The rules for auth methods and binding rules themselves. Pure.
#pragma once

#include <string>

#include "drover/result.h"
#include "drover/token_lifetimes.h"

namespace drover::v1 {
class AclAuthMethod;
class AclBindingRule;
}  // namespace drover::v1

namespace drover::login {

// A field that a request leaves open stays as it is in the row.
void complete_method(v1::AclAuthMethod& method, const v1::AclAuthMethod& existing);

// `is_served`: a plugin serves that type. `other_default`: the default one of another name; empty: there is none.
// Errors: invalid_argument "auth method 0 invalid: …" with all that is wrong.
Status check_method(const v1::AclAuthMethod& method, const TokenLifetimes& lifetimes, bool is_served,
                    const std::string& other_default);

// Errors: invalid_argument "binding rule 0 invalid: …", likewise.
Status check_rule(const v1::AclBindingRule& rule);

Status no_method();                               // not_found
Status no_rule();                                 // not_found
Status second_default(const std::string& first);  // invalid_argument

}  // namespace drover::login
