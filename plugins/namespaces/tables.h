// The table of this plugin and what its log commands do to it. Deterministic. [apply]
#pragma once

#include <optional>
#include <string>

#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::v1 {
class Namespace;
}  // namespace drover::v1

namespace drover::namespaces {

struct Tables {
  Table<v1::Namespace> namespaces;
  // Those of other plugins with rows that are in a namespace; none where the plugin is not loaded.
  std::optional<TableId> jobs = {};
  std::optional<TableId> allocs = {};
  std::optional<TableId> variables = {};
  std::optional<TableId> csi_volumes = {}, host_volumes = {};
};

// The namespace; "default" also before somebody changed it.
std::optional<v1::Namespace> find(const ReadView& view, const Tables& tables, const std::string& name);

// Nothing when the namespace may go. Errors: invalid_argument with all that is still in it, "1 error occurred:" and a
// bullet each.
Status check_unused(const ReadView& view, const Tables& tables, const std::string& name, const std::string& region);

// Requires: `tables` outlives the declarations.
Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::namespaces
