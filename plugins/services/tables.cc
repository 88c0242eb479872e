#include "tables.h"

#include <functional>

#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/service_registration.pb.h"
#include "rules.h"
#include "services.pb.h"

namespace drover::services {
namespace {

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  // The node may have gone down since the leader decided, and the allocation may have ended.
  Result<std::string> synced(const v1::ServicesSynced& command, ApplyContext& context) const {
    for (const v1::NodeServicesChanged& change : command.nodes()) {
      if (!may_publish(tables_, context.rows(), change.node_id())) continue;
      for (const v1::ServiceName& name : change.deletes()) {
        const std::string key = service_key(name.namespace_(), name.id());
        const auto row = tables_.services.get(context.rows(), key);
        if (row && row->node_id() == change.node_id()) tables_.services.erase(context.rows(), key);
      }
      for (const v1::ServiceRegistration& row : change.upserts()) {
        if (alloc_on(tables_, context.rows(), row.alloc_id(), change.node_id()))
          DROVER_RETURN_IF_ERROR(put(row, context));
      }
    }
    return std::string();
  }

  Result<std::string> forgotten(const v1::ServicesForgotten& command, ApplyContext& context) const {
    for (const std::string& id : command.node_ids()) erase_all(kServicesByNode, id, context);
    for (const std::string& id : command.alloc_ids()) erase_all(kServicesByAlloc, id, context);
    return std::string();
  }

  Result<std::string> swept(const v1::ServicesSwept& command, ApplyContext& context) const {
    const auto outlived = [&](const v1::ServiceRegistration& row) {
      return !may_publish(tables_, context.rows(), row.node_id()) ||
             !alloc_on(tables_, context.rows(), row.alloc_id(), row.node_id());
    };
    for (const std::string& id : command.outlived().node_ids()) erase_all(kServicesByNode, id, context, outlived);
    for (const std::string& id : command.outlived().alloc_ids()) erase_all(kServicesByAlloc, id, context, outlived);
    return std::string();
  }

  Result<std::string> deleted(const v1::ServiceDeleted& command, ApplyContext& context) const {
    const v1::ServiceName& name = command.service();
    if (!tables_.services.erase(context.rows(), service_key(name.namespace_(), name.id())))
      return not_found(std::string(kUnknown));
    return std::string();
  }

 private:
  Status put(v1::ServiceRegistration row, ApplyContext& context) const {
    const auto before = tables_.services.get(context.rows(), service_key(row.namespace_(), row.id()));
    if (before && before->node_id() == row.node_id() && says_the_same(*before, row)) return ok_status();
    row.set_create_index(before ? before->create_index() : context.index());
    row.set_modify_index(context.index());
    return tables_.services.put(context.rows(), row);
  }

  using Test = std::function<bool(const v1::ServiceRegistration&)>;
  // `test`: rows that are to go; null: all.
  void erase_all(uint32_t index, const std::string& id, ApplyContext& context, const Test& test = {}) const {
    std::vector<std::string> keys;
    tables_.services.scan(context.rows(), index, of_id(id), [&](const v1::ServiceRegistration& row, std::string_view) {
      if (!test || test(row)) keys.push_back(service_key(row.namespace_(), row.id()));
      return true;
    });
    for (const std::string& key : keys) tables_.services.erase(context.rows(), key);
  }

  const Tables& tables_;
};

}  // namespace

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_RETURN_IF_ERROR(declare.later_table("nodes", tables.nodes));
  DROVER_RETURN_IF_ERROR(declare.later_table("allocs", tables.allocs));
  DROVER_RETURN_IF_ERROR(declare.later_table("jobs", tables.jobs));
  DROVER_TRY(tables.services, declare_table(declare, service_registrations_table()));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::synced>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::forgotten>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::swept>(commands));
  return declare.command<&Commands::deleted>(commands);
}

}  // namespace drover::services
