#include "tables.h"

#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "node_pools.pb.h"
#include "rules.h"

namespace drover::node_pools {
namespace {

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> applied(const v1::NodePoolApplied& command, ApplyContext& context) const {
    DROVER_RETURN_IF_ERROR(put(command.node_pool(), context));
    return std::string();
  }

  Result<std::string> ensured(const v1::NodePoolsEnsured& command, ApplyContext& context) const {
    for (const v1::NodePool& pool : command.node_pools()) {
      if (context.rows().get(tables_.pools.id(), node_pool_key(pool.name()))) continue;
      DROVER_RETURN_IF_ERROR(put(pool, context));
    }
    return std::string();
  }

  Result<std::string> deleted(const v1::NodePoolDeleted& command, ApplyContext& context) const {
    DROVER_RETURN_IF_ERROR(without_nodes(context.rows(), tables_, command.name()));
    if (!tables_.pools.erase(context.rows(), node_pool_key(command.name()))) return not_found("node pool not found");
    return std::string();
  }

 private:
  Status put(v1::NodePool pool, ApplyContext& context) const {
    const auto existing = tables_.pools.get(context.rows(), node_pool_key(pool.name()));
    pool.set_create_index(existing ? existing->create_index() : context.index());
    pool.set_modify_index(context.index());
    return tables_.pools.put(context.rows(), pool);
  }

  const Tables& tables_;
};

}  // namespace

Status without_nodes(const ReadView& view, const Tables& tables, const std::string& name) {
  if (!tables.nodes) return ok_status();
  if (!view.scan(*tables.nodes, kNodesByPool, nodes_of_pool(name))->valid()) return ok_status();
  return invalid_argument("node pool \"" + name + "\" has nodes; move them to another pool before you delete it");
}

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_TRY(tables.pools, declare_table(declare, node_pools_table()));
  DROVER_RETURN_IF_ERROR(declare.later_table("nodes", tables.nodes));
  DROVER_RETURN_IF_ERROR(declare.later_table("jobs", tables.jobs));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::applied>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::ensured>(commands));
  return declare.command<&Commands::deleted>(commands);
}

}  // namespace drover::node_pools
