// The rules for policies, tokens and roles themselves. Pure.
#pragma once

#include <cstdint>

#include "drover/result.h"
#include "drover/token_lifetimes.h"

namespace drover::v1 {
class AclPolicy;
class AclRole;
class AclToken;
}  // namespace drover::v1

namespace drover::acl {

// Errors: invalid_argument with all that is wrong.
Status check_policy(const v1::AclPolicy& policy);
Status check_role(const v1::AclRole& role);

// Completes a new token at that time, or what is said anew of `existing` (null: none), and checks it: identifiers,
// times, type. Role links stay as they are said. Errors: invalid_argument "token 0 invalid: …".
Status complete_token(v1::AclToken& token, const v1::AclToken* existing, const TokenLifetimes& lifetimes, int64_t now);

}  // namespace drover::acl
