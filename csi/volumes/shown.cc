#include "shown.h"

#include <algorithm>

#include "drover/allocation_stub.h"
#include "drover/api/volumes.pb.h"
#include "drover/methods.h"
#include "drover/model/allocation.h"
#include "drover/options.pb.h"
#include "drover/permissions.h"
#include "drover/schema.h"
#include "drover/time.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::volumes {
namespace {

using Row = v1::CsiVolume;

// Fields that a list entry and a volume have in common.
template <typename Shown>
void copy_common(const Row& row, const StoragePlugin& plugin, Shown& shown) {
  shown.set_id(row.id());
  shown.set_namespace_(row.namespace_());
  shown.set_name(row.name());
  shown.set_external_id(row.external_id());
  *shown.mutable_topologies() = row.topologies();
  shown.set_access_mode(row.access_mode());
  shown.set_attachment_mode(row.attachment_mode());
  shown.set_schedulable(plugin.state.may_be_used());
  shown.set_plugin_id(row.plugin_id());
  shown.set_provider(plugin.state.provider);
  shown.set_controller_required(row.controller_required());
  shown.set_create_index(row.create_index());
  shown.set_modify_index(row.modify_index());
  shown.set_create_time(row.create_time());
  shown.set_modify_time(row.modify_time());
}

template <typename Shown>
void copy_counts(const StoragePlugin& plugin, Shown& shown) {
  shown.set_controllers_healthy(plugin.state.controllers_healthy);
  shown.set_controllers_expected(std::max(plugin.controllers_expected, plugin.state.controllers_healthy));
  shown.set_nodes_healthy(plugin.state.nodes_healthy);
  shown.set_nodes_expected(std::max(plugin.nodes_expected, plugin.state.nodes_healthy));
}

const char* word_of(v1::CsiClaimStep step) {
  switch (step) {
    case v1::CSI_CLAIM_STEP_CLAIMED:
      return "claimed";
    case v1::CSI_CLAIM_STEP_ATTACHED:
      return "attached";
    case v1::CSI_CLAIM_STEP_RELEASING:
      return "releasing";
    case v1::CSI_CLAIM_STEP_NODE_RELEASED:
      return "node released";
    default:
      return "";
  }
}

// A JSON object with null by allocation, as clients of the API read it.
void add_alloc(const std::string& alloc_id, std::string& object) {
  object += (object.size() > 1 ? ",\"" : "\"") + Uuid::from_bytes(alloc_id).to_string() + "\":null";
}

// The list entry of an allocation, where the caller may read its namespace's jobs.
template <typename Shown>
void add_stub(const v1::Allocation& alloc, const Tables& tables, const Call& call, Shown& shown) {
  if (!call.permissions().may(Access::READ_JOB, alloc.namespace_())) return;
  const auto job = Table<v1::Job>(tables.jobs).get(call.view(), job_key(alloc.namespace_(), alloc.job_id()));
  *shown.add_allocations() = drover::stub_of(alloc, job ? job->type() : std::string());
}

std::string holder_of(const v1::CsiClaim& claim, const ReadView& view, const Tables& tables) {
  const std::string id = Uuid::from_bytes(claim.alloc_id()).to_string();
  const auto alloc = Table<v1::Allocation>(tables.allocs).get(view, claim.alloc_id());
  if (!alloc) return "allocation " + id + " of job \"" + claim.job_id() + "\", which is forgotten";
  const char* state = client_terminal(*alloc)   ? ", which has ended"
                      : server_terminal(*alloc) ? ", which is to end"
                                                : "";
  return "allocation " + id + " of job \"" + claim.job_id() + "\"" + state;
}

std::string node_word(const v1::CsiClaim& claim, const ReadView& view, const Tables& tables) {
  const auto node = Table<v1::Node>(tables.nodes).get(view, claim.node_id());
  const std::string id = Uuid::from_bytes(claim.node_id()).short_string();
  return node ? "node " + id + " (" + node->name() + ")" : "node " + id + ", which is gone";
}

// After an attempt that failed.
std::string next_try(const v1::CsiClaim& claim) {
  if (claim.last_error().empty()) return "";
  return "; attempt " + std::to_string(claim.attempts()) + " failed: " + claim.last_error() +
         (claim.is_final_error() ? "" : "; the next is at " + format_time(claim.next_try()));
}

std::string freed_by(const v1::CsiClaim& claim, const ReadView& view, const Tables& tables) {
  const bool is_held = claim.step() == v1::CSI_CLAIM_STEP_CLAIMED || claim.step() == v1::CSI_CLAIM_STEP_ATTACHED;
  if (is_held && has_ended(view, tables, claim.alloc_id()))
    return "the servers, within moments: " + node_word(claim, view, tables) + " may unmount the volume by itself first";
  switch (claim.step()) {
    case v1::CSI_CLAIM_STEP_CLAIMED:
      if (claim.is_final_error())
        return "the allocation, which fails since the volume cannot be attached: " + claim.last_error();
      return "the end of the allocation; a controller of \"" + claim.plugin_id() + "\" is to attach the volume first" +
             next_try(claim);
    case v1::CSI_CLAIM_STEP_ATTACHED:
      return "the end of the allocation: stop or move it";
    case v1::CSI_CLAIM_STEP_RELEASING:
      return node_word(claim, view, tables) + ", which is to unmount the volume; or its removal (drover node purge)" +
             next_try(claim);
    default:
      return "a controller of \"" + claim.plugin_id() + "\", which is to detach the volume from " +
             node_word(claim, view, tables) + next_try(claim);
  }
}

}  // namespace

const StoragePlugin& PluginStates::of(const std::string& plugin_id) {
  const auto at = known_.find(plugin_id);
  if (at != known_.end()) return at->second;
  return known_.emplace(plugin_id, storage_plugin(view_, tables_, plugin_id)).first->second;
}

v1::VolumeStub stub_of(const Row& row, const std::vector<v1::CsiClaim>& claims, const StoragePlugin& plugin) {
  v1::VolumeStub stub;
  copy_common(row, plugin, stub);
  copy_counts(plugin, stub);
  const auto readers = std::ranges::count_if(claims, [](const v1::CsiClaim& claim) { return claim.read_only(); });
  stub.set_current_readers(static_cast<int32_t>(readers));
  stub.set_current_writers(static_cast<int32_t>(claims.size()) - stub.current_readers());
  return stub;
}

v1::VolumeClaim shown_claim(const v1::CsiClaim& claim) {
  v1::VolumeClaim shown;
  shown.set_alloc_id(claim.alloc_id());
  shown.set_job_id(claim.job_id());
  shown.set_node_id(claim.node_id());
  shown.set_external_node_id(claim.external_node_id());
  shown.set_mode(claim.read_only() ? "read" : "write");
  shown.set_access_mode(claim.access_mode());
  shown.set_attachment_mode(claim.attachment_mode());
  shown.set_step(word_of(claim.step()));
  shown.set_since(claim.since());
  shown.set_attempts(claim.attempts());
  shown.set_last_error(claim.last_error());
  shown.set_next_try(claim.next_try());
  return shown;
}

v1::Volume shown_volume(const Row& row, const Tables& tables, const Call& call) {
  const ReadView& view = call.view();
  const StoragePlugin plugin = storage_plugin(view, tables, row.plugin_id());
  v1::Volume shown;
  copy_common(row, plugin, shown);
  copy_counts(plugin, shown);
  shown.set_provider_version(plugin.state.version);
  if (row.has_requested_topologies()) *shown.mutable_requested_topologies() = row.requested_topologies();
  if (row.has_mount_options()) {
    shown.mutable_mount_options()->set_fs_type(row.mount_options().fs_type());
    if (!row.mount_options().mount_flags().empty()) shown.mutable_mount_options()->add_mount_flags("[REDACTED]");
  }
  *shown.mutable_parameters() = row.parameters();
  *shown.mutable_context() = row.context();
  shown.set_capacity(row.capacity());
  shown.set_requested_capacity_min(row.requested_capacity_min());
  shown.set_requested_capacity_max(row.requested_capacity_max());
  *shown.mutable_requested_capabilities() = row.requested_capabilities();
  shown.set_clone_id(row.clone_id());
  shown.set_snapshot_id(row.snapshot_id());
  std::string readers = "{", writers = "{";
  for (const v1::CsiClaim& claim : claims_on(view, tables, row.namespace_(), row.id())) {
    *shown.add_claims() = shown_claim(claim);
    add_alloc(claim.alloc_id(), claim.read_only() ? readers : writers);
    if (const auto alloc = Table<v1::Allocation>(tables.allocs).get(view, claim.alloc_id()))
      add_stub(*alloc, tables, call, shown);
  }
  shown.set_read_allocs(readers + "}");
  shown.set_write_allocs(writers + "}");
  return shown;
}

v1::ExplainVolumeResponse explained(const std::vector<v1::CsiClaim>& claims, const ReadView& view,
                                    const Tables& tables) {
  v1::ExplainVolumeResponse response;
  for (const v1::CsiClaim& claim : claims) {
    auto& out = *response.add_claims();
    *out.mutable_claim() = shown_claim(claim);
    out.set_held_by(holder_of(claim, view, tables));
    out.set_freed_by(freed_by(claim, view, tables));
  }
  return response;
}

v1::CsiPluginStub stub_of(const std::string& id, const StoragePlugin& plugin) {
  v1::CsiPluginStub stub;
  stub.set_id(id);
  stub.set_provider(plugin.state.provider);
  stub.set_controller_required(plugin.state.controller_required);
  copy_counts(plugin, stub);
  stub.set_create_index(plugin.create_index);
  stub.set_modify_index(plugin.modify_index);
  return stub;
}

v1::CsiPlugin shown_plugin(const std::string& id, const StoragePlugin& plugin, const Tables& tables, const Call& call) {
  v1::CsiPlugin shown;
  shown.set_id(id);
  shown.set_provider(plugin.state.provider);
  shown.set_version(plugin.state.version);
  shown.set_controller_required(plugin.state.controller_required);
  copy_counts(plugin, shown);
  shown.set_create_index(plugin.create_index);
  shown.set_modify_index(plugin.modify_index);
  for (const v1::Allocation& alloc : plugin.allocations) add_stub(alloc, tables, call, shown);
  Table<v1::Node>(tables.nodes)
      .scan(call.view(), kNodesByCsiPlugin, of_csi_plugin(id), [&](const v1::Node& node, std::string_view) {
        const std::string node_id = Uuid::from_bytes(node.id()).to_string();
        const auto controller = node.csi_controller_plugins().find(id);
        if (controller != node.csi_controller_plugins().end())
          (*shown.mutable_controllers())[node_id] = controller->second;
        const auto on_node = node.csi_node_plugins().find(id);
        if (on_node != node.csi_node_plugins().end()) (*shown.mutable_nodes())[node_id] = on_node->second;
        return true;
      });
  return shown;
}

}  // namespace drover::volumes
