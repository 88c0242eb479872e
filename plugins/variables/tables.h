// The tables of this plugin and what its log commands do to them. Deterministic. [apply]
#pragma once

#include <optional>
#include <string>

#include "drover/keyring.h"
#include "drover/plugin.h"

namespace drover::v1 {
class RootKey;
class SealedVariable;
class VariablesQuota;
}  // namespace drover::v1

namespace drover::variables {

inline constexpr uint32_t kByKey = 1;   // of both tables of sealed rows: (root key, namespace, path, modify index)
inline constexpr uint32_t kLocked = 2;  // of the variables: (namespace, path), of those with a lock

struct Tables {
  Table<v1::SealedVariable> variables;     // primary: (namespace, path)
  Table<v1::SealedVariable> versions;      // primary: (namespace, path, modify index descending); former ones
  Table<v1::VariablesQuota> quota;         // primary: namespace
  Table<v1::RootKey> root_keys;            // of the plugin keyring; primary: key
  std::optional<TableId> namespaces = {};  // of the plugin namespaces; none where it is not loaded
};

// Errors: invalid_argument when the namespace is not there.
Status check_place(const ReadView& view, const Tables& tables, const std::string& name_space, const std::string& path);

// Requires: `tables` outlives the declarations.
Status declare_tables(Declarations& declare, Tables& tables);

std::string variable_key(std::string_view name_space, std::string_view path);
std::string variable_key(const v1::SealedVariable& row);
std::string version_key(std::string_view name_space, std::string_view path, uint64_t modify_index);
std::string version_key(const v1::SealedVariable& row);
KeyRange versions_of(std::string_view name_space, std::string_view path);

class Uses final : public KeyUser {
 public:
  explicit Uses(const Tables& tables) : tables_(tables) {}
  uint64_t uses(const ReadView& view, std::string_view key_id, uint64_t most) const override;

 private:
  const Tables& tables_;
};

}  // namespace drover::variables
