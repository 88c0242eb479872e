#include "server/tables.h"

#include "drover/model/allocation.h"
#include "drover/model/host_volume.h"
#include "drover/model/job.h"
#include "drover/model/namespace.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "host_volumes.pb.h"

namespace drover::host_volumes {
namespace {

using Row = v1::DynamicHostVolume;

Status too_late(const v1::HostVolumeName& name) {
  return aborted("volume " + Uuid::from_bytes(name.id()).to_string() + " was changed meanwhile");
}

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> begun(v1::HostVolumeBegun& command, ApplyContext& context) const {
    Row& row = *command.mutable_volume();
    if (!has_namespace(context.rows(), tables_.namespaces, row.namespace_()))
      return failed_precondition("namespace \"" + row.namespace_() + "\" was deleted meanwhile");
    const auto before = tables_.volumes.get(context.rows(), host_volume_key(row.namespace_(), row.id()));
    if (command.modify_index() != (before ? before->modify_index() : 0))
      return aborted("volume " + row.name() + " was changed meanwhile");
    const auto same_name =
        tables_.volumes.get_by(context.rows(), kHostVolumesByNode, host_volume_on_node_key(row.node_id(), row.name()));
    if (same_name && same_name->id() != row.id())
      return already_exists("a volume \"" + row.name() + "\" exists on node " +
                            Uuid::from_bytes(row.node_id()).to_string());
    if (before) {
      DROVER_RETURN_IF_ERROR(unused(context.rows(), tables_, *before, "cannot update a volume"));
      *row.mutable_before() = *before;
      row.mutable_before()->clear_before();
    }
    row.set_create_index(before ? before->create_index() : context.index());
    row.set_create_time(before ? before->create_time() : row.modify_time());
    return put(row, v1::HOST_VOLUME_STEP_MAKING, context);
  }

  Result<std::string> made(const v1::HostVolumeMade& command, ApplyContext& context) const {
    auto row = find(command.name(), v1::HOST_VOLUME_STEP_MAKING, context);
    if (!row) return too_late(command.name());
    row->set_host_path(command.host_path());
    row->set_capacity(command.capacity());
    row->set_modify_time(command.time());
    row->clear_before();
    row->clear_last_error();
    return put(*row, v1::HOST_VOLUME_STEP_MADE, context);
  }

  Result<std::string> refused(const v1::HostVolumeRefused& command, ApplyContext& context) const {
    auto row = find(command.name(), v1::HOST_VOLUME_STEP_UNSPECIFIED, context);
    if (!row || row->step() == v1::HOST_VOLUME_STEP_MADE) return too_late(command.name());
    if (row->step() == v1::HOST_VOLUME_STEP_MAKING && !row->has_before()) return forget(*row, context);
    if (row->step() == v1::HOST_VOLUME_STEP_MAKING) *row = Row(row->before());
    row->set_last_error(command.error());
    row->set_modify_time(command.time());
    return put(*row, v1::HOST_VOLUME_STEP_MADE, context);
  }

  Result<std::string> tried(const v1::HostVolumeTried& command, ApplyContext& context) const {
    auto row = find(command.name(), v1::HOST_VOLUME_STEP_UNSPECIFIED, context);
    if (!row) return too_late(command.name());
    row->set_last_error(command.error());
    row->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(tables_.volumes.put(context.rows(), *row));
    return std::string();
  }

  Result<std::string> deleting(const v1::HostVolumeDeleting& command, ApplyContext& context) const {
    auto row = find(command.name(), v1::HOST_VOLUME_STEP_MADE, context);
    if (!row) return too_late(command.name());
    DROVER_RETURN_IF_ERROR(unused(context.rows(), tables_, *row, "cannot delete a volume"));
    row->set_modify_time(command.time());
    row->clear_last_error();
    return put(*row, v1::HOST_VOLUME_STEP_DELETING, context);
  }

  Result<std::string> forgotten(const v1::HostVolumeForgotten& command, ApplyContext& context) const {
    const auto row = find(command.name(), v1::HOST_VOLUME_STEP_UNSPECIFIED, context);
    if (!row) return too_late(command.name());
    return forget(*row, context);
  }

  Result<std::string> claimed(v1::HostVolumesClaimed& command, ApplyContext& context) const {
    for (v1::HostVolumeClaim& claim : *command.mutable_claims()) {
      const std::string key =
          host_volume_claim_key(claim.namespace_(), claim.job_id(), claim.task_group_name(), claim.volume_id());
      const auto before = tables_.claims.get_by(context.rows(), kHostVolumeClaimsByJob, key);
      if (before) claim.set_id(before->id());
      claim.set_create_index(before ? before->create_index() : context.index());
      claim.set_modify_index(context.index());
      DROVER_RETURN_IF_ERROR(tables_.claims.put(context.rows(), claim));
    }
    return std::string();
  }

  Result<std::string> claims_deleted(const v1::HostVolumeClaimsDeleted& command, ApplyContext& context) const {
    for (const auto& name : command.claims())
      tables_.claims.erase(context.rows(), host_volume_key(name.namespace_(), name.id()));
    return std::string();
  }

 private:
  // Nothing when it is not at that step any more; unspecified: whichever.
  std::optional<Row> find(const v1::HostVolumeName& name, v1::HostVolumeStep step, ApplyContext& context) const {
    auto row = tables_.volumes.get(context.rows(), host_volume_key(name.namespace_(), name.id()));
    if (!row || (name.step_index() != 0 && name.step_index() != row->step_index())) return std::nullopt;
    if (step != v1::HOST_VOLUME_STEP_UNSPECIFIED && row->step() != step) return std::nullopt;
    return row;
  }

  Result<std::string> put(Row& row, v1::HostVolumeStep step, ApplyContext& context) const {
    row.set_step(step);
    row.set_step_index(context.index());
    row.set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(tables_.volumes.put(context.rows(), row));
    return std::string();
  }

  Result<std::string> forget(const Row& row, ApplyContext& context) const {
    tables_.volumes.erase(context.rows(), host_volume_key(row.namespace_(), row.id()));
    std::vector<std::string> keys;
    tables_.claims.scan(context.rows(), kPrimary, KeyRange::all(),
                        [&](const v1::HostVolumeClaim& claim, std::string_view key) {
                          if (claim.volume_id() == row.id()) keys.emplace_back(key);
                          return true;
                        });
    for (const std::string& key : keys) tables_.claims.erase(context.rows(), key);
    return std::string();
  }

  const Tables& tables_;
};

}  // namespace

std::optional<v1::Node> node_of(const ReadView& view, const Tables& tables, const std::string& id) {
  return tables.nodes ? Table<v1::Node>(*tables.nodes).get(view, id) : std::nullopt;
}

std::vector<v1::Allocation> users_of(const ReadView& view, const Tables& tables, const Row& volume) {
  std::vector<v1::Allocation> users;
  if (!tables.allocs || !tables.job_versions) return users;
  const auto visit = [&](v1::Allocation& alloc, std::string_view) {
    if (client_terminal(alloc) || alloc.namespace_() != volume.namespace_()) return true;
    const std::string key = job_version_key(alloc.namespace_(), alloc.job_id(), alloc.job_version());
    const auto job = Table<v1::Job>(*tables.job_versions).get(view, key);
    const v1::TaskGroup* group = job ? find_group(*job, alloc.task_group()) : nullptr;
    if (group && host_volume_use(*group, alloc.name(), volume.name())) users.push_back(std::move(alloc));
    return true;
  };
  Table<v1::Allocation>(*tables.allocs).scan(view, kAllocsByNode, of_id(volume.node_id()), visit);
  return users;
}

Status unused(const ReadView& view, const Tables& tables, const Row& volume, std::string_view what) {
  std::string ids;
  for (const v1::Allocation& alloc : users_of(view, tables, volume))
    ids += (ids.empty() ? "" : ", ") + Uuid::from_bytes(alloc.id()).to_string();
  if (ids.empty()) return ok_status();
  return failed_precondition(std::string(what) + " in use: claimed by allocs (" + ids + ")");
}

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_TRY(tables.volumes, declare_table(declare, host_volumes_table()));
  DROVER_TRY(tables.claims, declare_table(declare, host_volume_claims_table()));
  DROVER_RETURN_IF_ERROR(declare.later_table("nodes", tables.nodes));
  DROVER_RETURN_IF_ERROR(declare.later_table("jobs", tables.jobs));
  DROVER_RETURN_IF_ERROR(declare.later_table("job_versions", tables.job_versions));
  DROVER_RETURN_IF_ERROR(declare.later_table("allocs", tables.allocs));
  DROVER_RETURN_IF_ERROR(declare.later_table("namespaces", tables.namespaces));
  DROVER_RETURN_IF_ERROR(declare.later_table("node_pools", tables.node_pools));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::begun>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::made>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::refused>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::tried>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::deleting>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::forgotten>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::claimed>(commands));
  return declare.command<&Commands::claims_deleted>(commands);
}

}  // namespace drover::host_volumes
