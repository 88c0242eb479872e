// The tables of this plugin and what its log commands do to them. Deterministic. [apply]
#pragma once

#include <optional>
#include <vector>

#include "drover/keyring.h"
#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::v1 {
class AclAuthMethod;
class AclBindingRule;
}  // namespace drover::v1

namespace drover::login {

inline constexpr uint32_t kMethodsByKey = 1;   // (root key, method); of those whose Config is sealed
inline constexpr uint32_t kRulesByMethod = 1;  // (method, rule)

struct Tables {
  Table<v1::AclAuthMethod> methods;  // by name
  Table<v1::AclBindingRule> rules;   // by identifier
  std::optional<TableId> root_keys = {};  // of the keyring
};

// Counts what root keys seal here.
class Uses final : public KeyUser {
 public:
  explicit Uses(const Tables& tables) : tables_(tables) {}
  uint64_t uses(const ReadView& view, std::string_view key_id, uint64_t most) const override;

 private:
  const Tables& tables_;
};

// The method that is the default; nothing when none is.
std::optional<v1::AclAuthMethod> default_method(const ReadView& view, const Tables& tables);
// In the order of their identifiers.
std::vector<v1::AclBindingRule> rules_of(const ReadView& view, const Tables& tables, std::string_view method);

// Requires: `tables` outlives the declarations.
Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::login
