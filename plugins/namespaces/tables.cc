#include "tables.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "drover/model/allocation.h"
#include "drover/model/namespace.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/namespace.pb.h"
#include "namespaces.pb.h"
#include "rules.h"

namespace drover::namespaces {
namespace {

// True when a row of the namespace still counts. `index`: begins with the namespace.
template <typename Row, typename Counts>
bool has_row(const ReadView& view, const std::optional<TableId>& table, uint32_t index, const std::string& name,
             const Counts& counts) {
  if (!table) return false;
  bool is_found = false;
  Table<Row>(*table).scan(view, index, of_namespace(name), [&](const Row& row, std::string_view) {
    is_found = counts(row);
    return !is_found;
  });
  return is_found;
}

bool has_live_job(const ReadView& view, const Tables& tables, const std::string& name) {
  return has_row<v1::Job>(view, tables.jobs, kPrimary, name,
                          [](const v1::Job& job) { return job.status() != v1::JOB_STATUS_DEAD; });
}

// Also those of jobs that are gone: what still runs belongs somewhere.
bool has_live_alloc(const ReadView& view, const Tables& tables, const std::string& name) {
  return has_row<v1::Allocation>(view, tables.allocs, kAllocsByJob, name,
                                 [](const v1::Allocation& alloc) { return !terminal(alloc); });
}

// No path is named: the caller may be allowed to list none.
bool has_variable(const ReadView& view, const Tables& tables, const std::string& name) {
  return tables.variables && view.scan(*tables.variables, kPrimary, of_namespace(name))->valid();
}

bool has_volume(const ReadView& view, const Tables& tables, const std::string& name) {
  return std::ranges::any_of(std::array{tables.csi_volumes, tables.host_volumes}, [&](std::optional<TableId> table) {
    return table && view.scan(*table, kPrimary, of_namespace(name))->valid();
  });
}

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> applied(const v1::NamespaceApplied& command, ApplyContext& context) const {
    v1::Namespace row = command.namespace_();
    const auto existing = find(context.rows(), tables_, row.name());
    row.set_create_index(existing ? existing->create_index() : context.index());
    row.set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(tables_.namespaces.put(context.rows(), row));
    return std::string();
  }

  Result<std::string> deleted(const v1::NamespaceDeleted& command, ApplyContext& context) const {
    const std::string key = namespace_key(command.name());
    if (!context.rows().get(tables_.namespaces.id(), key)) return not_found("namespace not found");
    DROVER_RETURN_IF_ERROR(check_unused(context.rows(), tables_, command.name(), command.region()));
    tables_.namespaces.erase(context.rows(), key);
    return std::string();
  }

 private:
  const Tables& tables_;
};

}  // namespace

std::optional<v1::Namespace> find(const ReadView& view, const Tables& tables, const std::string& name) {
  if (auto row = tables.namespaces.get(view, namespace_key(name))) return row;
  if (name == kDefaultNamespace) return unchanged_default();
  return std::nullopt;
}

Status check_unused(const ReadView& view, const Tables& tables, const std::string& name, const std::string& region) {
  std::vector<std::string> reasons;
  const auto note = [&](bool has, const std::string& what) {
    if (has) reasons.push_back("namespace \"" + name + "\" has " + what + " in regions: [" + region + "]");
  };
  note(has_live_job(view, tables, name), "non-terminal jobs");
  note(has_live_alloc(view, tables, name), "non-terminal allocations");
  note(has_variable(view, tables, name), "variables associated with it");
  note(has_volume(view, tables, name), "volumes");
  if (reasons.empty()) return ok_status();
  std::string text = std::to_string(reasons.size()) + (reasons.size() == 1 ? " error occurred:" : " errors occurred:");
  for (const std::string& reason : reasons) text += "\n\t* " + reason;
  return invalid_argument(text + "\n");
}

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_TRY(tables.namespaces, declare_table(declare, namespaces_table()));
  DROVER_RETURN_IF_ERROR(declare.later_table("jobs", tables.jobs));
  DROVER_RETURN_IF_ERROR(declare.later_table("allocs", tables.allocs));
  DROVER_RETURN_IF_ERROR(declare.later_table("variables", tables.variables));
  DROVER_RETURN_IF_ERROR(declare.later_table("csi_volumes", tables.csi_volumes));
  DROVER_RETURN_IF_ERROR(declare.later_table("host_volumes", tables.host_volumes));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::applied>(commands));
  return declare.command<&Commands::deleted>(commands);
}

}  // namespace drover::namespaces
