// The table of this plugin and what its log commands do to it. Deterministic. [apply]
#pragma once

#include <optional>

#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::v1 {
class NodePool;
}  // namespace drover::v1

namespace drover::node_pools {

struct Tables {
  Table<v1::NodePool> pools;
  std::optional<TableId> nodes = {};  // of the plugin nodes; none where it is not loaded
  std::optional<TableId> jobs = {};   // of the plugin jobs, likewise
};

// Nothing when the pool may go, as far as its nodes are concerned. Errors: invalid_argument.
Status without_nodes(const ReadView& view, const Tables& tables, const std::string& name);

// Requires: `tables` outlives the declarations.
Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::node_pools
