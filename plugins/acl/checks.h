// The rules for policies, tokens and roles themselves. Pure.
#pragma once

#include <chrono>
#include <cstdint>

#include "drover/result.h"

namespace drover::v1 {
class AclPolicy;
class AclRole;
class AclToken;
}  // namespace drover::v1

namespace drover::acl {

// How long a token that ends may live.
struct Lifetimes {
  std::chrono::nanoseconds shortest = std::chrono::minutes(1);
  std::chrono::nanoseconds longest = std::chrono::hours(24);
};

// Errors: invalid_argument with all that is wrong.
Status check_policy(const v1::AclPolicy& policy);
Status check_role(const v1::AclRole& role);

// Completes a new token at that time, or what is said anew of `existing` (null: none), and checks it: identifiers,
// times, type. Role links stay as they are said. Errors: invalid_argument "token 0 invalid: …".
Status complete_token(v1::AclToken& token, const v1::AclToken* existing, const Lifetimes& lifetimes, int64_t now);

}  // namespace drover::acl
