// The tables of this plugin and what its log commands do to them. Deterministic. [apply]
#pragma once

#include <optional>
#include <vector>

#include "drover/keyring.h"
#include "drover/plugin.h"
#include "drover/tables.h"
#include "drover/workload.h"

namespace drover::v1 {
class AclBootstrap;
class AclPolicy;
class AclRole;
class AclToken;
class OneTimeToken;
}  // namespace drover::v1

namespace drover::acl {

inline constexpr uint32_t kPoliciesByJob = 1;    // (namespace, job, policy); of those that tasks have by themselves
inline constexpr uint32_t kTokensBySecret = 1;   // SHA-256 of the secret: how long a look takes tells nothing of it
inline constexpr uint32_t kTokensByEnd = 2;      // (time, token); of those that end
inline constexpr uint32_t kTokensByKey = 3;      // (root key, token)
inline constexpr uint32_t kRolesByName = 1;      // name
inline constexpr uint32_t kOneTimeBySecret = 1;  // as kTokensBySecret

struct Tables {
  Table<v1::AclPolicy> policies;  // by name
  Table<v1::AclToken> tokens;     // by accessor
  Table<v1::AclRole> roles;       // by identifier
  Table<v1::OneTimeToken> one_time_tokens;  // by accessor
  Table<v1::AclBootstrap> bootstrap;        // one row, of an empty key
  std::optional<TableId> nodes = {}, allocs = {}, jobs = {}, root_keys = {};  // of other plugins
};

// The index of the last bootstrap; 0: there was none.
uint64_t bootstrap_index(const ReadView& view, const Tables& tables);

std::optional<v1::AclToken> token_of_secret(const ReadView& view, const Tables& tables, std::string_view secret);

// The policies that the token has, by itself and through its roles, each once. A name without a policy gives nothing.
std::vector<v1::AclPolicy> policies_of(const ReadView& view, const Tables& tables, const v1::AclToken& token);

// Those that a task has without a token: of its namespace, job, group and itself.
std::vector<v1::AclPolicy> policies_of(const ReadView& view, const Tables& tables, const Workload& workload);

// With the roles' present names, and without those that are not there.
v1::AclToken with_role_names(const ReadView& view, const Tables& tables, v1::AclToken token);

// Counts what root keys seal here.
class Uses final : public KeyUser {
 public:
  explicit Uses(const Tables& tables) : tables_(tables) {}
  uint64_t uses(const ReadView& view, std::string_view key_id, uint64_t most) const override;

 private:
  const Tables& tables_;
};

// Requires: `tables` outlives the declarations.
Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::acl
