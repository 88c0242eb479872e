// The claims in the token of a task. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "drover/keyring.h"
#include "drover/result.h"
#include "drover/workload.h"

namespace drover::v1 {
class Identity;
class Task;
}  // namespace drover::v1

namespace drover::identity {

struct ClaimsInput {
  const Workload& workload;
  const v1::Identity& identity;  // as identity_of gives it
  std::string allocation;        // as text
  std::string region;
  std::string issuer;            // empty: the token names none
  std::string token_id;          // a new one for each token
  int64_t now_ns = 0;            // since 1970
};

// As a JSON object.
std::string claims_of(const ClaimsInput& input);
// Nanoseconds since 1970; 0: with the allocation.
int64_t end_of(const v1::Identity& identity, int64_t now_ns);

// The identity of that name; every task has the default one, whether its job says so or not. Errors: not_found.
Result<v1::Identity> identity_of(const v1::Task& task, const std::string& name);

// The cluster reads its own tokens by the short signature; those for others have the one that everybody reads.
Keyring::Algorithm algorithm_of(const v1::Identity& identity);

// The document of OpenID Connect Discovery.
std::string discovery_of(const std::string& issuer);

}  // namespace drover::identity
