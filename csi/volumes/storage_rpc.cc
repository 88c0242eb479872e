// The calls for which a storage plugin is asked: those of VolumeRpc that take long.
#include <algorithm>
#include <set>

#include "drover/api/volumes.pb.h"
#include "drover/model/csi_volume.h"
#include "drover/model/namespace.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node_csi.pb.h"
#include "rights.h"
#include "shown.h"
#include "storage_plugins.h"
#include "volume_rpc.h"
#include "volume_rules.h"
#include "volumes.pb.h"

namespace drover::volumes {
namespace {

Status no_plugin(const std::string& id) {
  return failed_precondition("no CSI plugin named: " + id + " could be found");
}

// Errors: failed_precondition, unless a healthy controller of the plugin can do that.
Status require_ability(const ReadView& view, const Tables& tables, const std::string& plugin_id,
                       bool (v1::CsiControllerInfo::*ability)() const, const char* text) {
  const auto places = controllers_of(view, tables.nodes, plugin_id);
  if (places.empty()) {
    if (!storage_plugin(view, tables, plugin_id).is_known()) return no_plugin(plugin_id);
    return unavailable("no healthy controller of the plugin \"" + plugin_id + "\"");
  }
  if (std::ranges::any_of(places, [&](const ControllerPlace& place) { return (place.info.*ability)(); }))
    return ok_status();
  return failed_precondition("plugin \"" + plugin_id + "\" does not support " + text);
}

Status check_request(const v1::VolumesRequest& request) {
  if (request.volumes().empty()) return invalid_argument("missing volume definition");
  if (request.volume_id().empty()) return ok_status();
  const bool is_there = std::ranges::any_of(
      request.volumes(), [&](const v1::Volume& said) { return said.id() == request.volume_id(); });
  return is_there ? ok_status() : invalid_argument("volume ID does not match request path");
}

v1::VolumeSnapshot shown_snapshot(const v1::CsiExternalSnapshot& found, const std::string& plugin_id) {
  v1::VolumeSnapshot shown;
  shown.set_id(found.id());
  shown.set_external_source_volume_id(found.external_volume_id());
  shown.set_size_bytes(found.size_bytes());
  shown.set_create_time(found.create_time());
  shown.set_is_ready(found.is_ready());
  shown.set_plugin_id(plugin_id);
  return shown;
}

// The volume's secrets, and over them those that the caller gives.
Status add_given(Keyring& keys, const v1::CsiVolume& row, const Texts& given, Texts& out) {
  DROVER_RETURN_IF_ERROR(open_secrets(keys, row.secrets(), row.namespace_(), row.id(), out));
  for (const auto& [name, value] : given) out[name] = value;
  return ok_status();
}

}  // namespace

struct VolumeRpc::Draft {
  v1::CsiVolume row;
  bool is_new = false;
  uint64_t decided_on = 0;   // the row's modify index before; 0: there was none
  int64_t asked_before = 0;  // the least capacity
  Texts secrets;             // open
};

Result<VolumeRpc::Draft> VolumeRpc::draft(const v1::Volume& given, bool creates, Call& call) const {
  v1::Volume said = given;
  if (said.namespace_().empty()) said.set_namespace_(call.query().name_space);
  DROVER_RETURN_IF_ERROR(call.require(said.namespace_()));
  DROVER_RETURN_IF_ERROR(may_read_plugins(call));
  DROVER_RETURN_IF_ERROR(check_volume(said, creates ? Purpose::creating : Purpose::registering));
  const auto view = host_->snapshot();
  if (!has_namespace(*view, tables_.namespaces, said.namespace_()))
    return invalid_argument("volume \"" + said.id() + "\" is in nonexistent namespace \"" + said.namespace_() + "\"");
  const StoragePlugin plugin = storage_plugin(*view, tables_, said.plugin_id());
  if (plugin.state.controllers + plugin.state.nodes == 0) return no_plugin(said.plugin_id());
  Draft draft;
  const auto before = tables_.volumes.get(*view, csi_volume_key(said.namespace_(), said.id()));
  draft.is_new = !before;
  if (before) {
    draft.decided_on = before->modify_index();
    draft.asked_before = before->requested_capacity_min();
    DROVER_TRY(draft.row, changed_volume(*before, said));
  } else {
    if (asks_for_topologies(said) && !plugin.state.has_topologies)
      return failed_precondition("plugin \"" + said.plugin_id() +
                                 "\" does not support topologies (VOLUME_ACCESSIBILITY_CONSTRAINTS): leave "
                                 "topology_request out");
    draft.row = new_volume(said, creates ? Purpose::creating : Purpose::registering);
  }
  draft.row.set_controller_required(plugin.state.controller_required);
  draft.row.set_modify_time(host_->clock().wall_ns());
  DROVER_RETURN_IF_ERROR(add_secrets(said, draft));
  return draft;
}

// Those of the description, or the ones that the volume has.
Status VolumeRpc::add_secrets(const v1::Volume& said, Draft& draft) const {
  v1::CsiVolume& row = draft.row;
  if (said.secrets().empty())
    return open_secrets(*keys_, row.secrets(), row.namespace_(), row.id(), draft.secrets);
  draft.secrets = said.secrets();
  DROVER_TRY(*row.mutable_secrets(),
             seal_secrets(*keys_, *host_->snapshot(), said.secrets(), row.namespace_(), row.id()));
  return ok_status();
}

// Has a controller confirm what the volume can do.
Status VolumeRpc::validate(const Draft& draft, Call& call) const {
  const v1::CsiVolume& row = draft.row;
  if (!row.controller_required()) return ok_status();
  v1::CsiValidateRequest request;
  request.set_plugin_id(row.plugin_id());
  request.set_external_volume_id(csi_remote_id(row));
  *request.mutable_capabilities() = row.requested_capabilities();
  *request.mutable_mount_options() = row.mount_options();
  *request.mutable_secrets() = draft.secrets;
  *request.mutable_parameters() = row.parameters();
  *request.mutable_volume_context() = row.context();
  return controllers().call<v1::CsiDoneResponse>("Validate", std::move(request), call.stop()).status();
}

Status VolumeRpc::create_at_storage(Draft& draft, const v1::Volume& said, Call& call) const {
  v1::CsiVolume& row = draft.row;
  DROVER_RETURN_IF_ERROR(require_ability(*host_->snapshot(), tables_, row.plugin_id(),
                                         &v1::CsiControllerInfo::supports_create_delete, "creating volumes"));
  v1::CsiCreateRequest request;
  request.set_plugin_id(row.plugin_id());
  request.set_name(row.name());
  *request.mutable_capabilities() = row.requested_capabilities();
  *request.mutable_mount_options() = row.mount_options();
  *request.mutable_secrets() = draft.secrets;
  *request.mutable_parameters() = row.parameters();
  request.set_capacity_min(row.requested_capacity_min());
  request.set_capacity_max(row.requested_capacity_max());
  request.set_snapshot_id(row.snapshot_id());
  if (!said.clone_id().empty()) {
    // People name the volume as they know it; one that is not known here they name as its storage does.
    const auto source = find(*host_->snapshot(), row.namespace_(), said.clone_id());
    request.set_clone_id(source ? csi_remote_id(*source) : said.clone_id());
  }
  if (asks_for_topologies(said)) *request.mutable_topologies() = row.requested_topologies();
  DROVER_TRY(const v1::CsiCreateResponse made,
             controllers().call<v1::CsiCreateResponse>("Create", std::move(request), call.stop()));
  row.set_external_id(made.external_volume_id());
  row.set_capacity(made.capacity());
  *row.mutable_context() = made.volume_context();
  *row.mutable_topologies() = made.topologies();
  return ok_status();
}

// Makes a volume that wants more than it has larger: first at its storage, then where it is mounted. Each part may be
// repeated, so the new size is written when all of them are done.
Status VolumeRpc::expand(Draft& draft, Call& call) const {
  v1::CsiVolume& row = draft.row;
  if (draft.is_new || !wants_more(row, draft.asked_before)) return ok_status();
  DROVER_RETURN_IF_ERROR(require_ability(*host_->snapshot(), tables_, row.plugin_id(),
                                         &v1::CsiControllerInfo::supports_expand, "expanding volumes"));
  v1::CsiExpandRequest request;
  request.set_plugin_id(row.plugin_id());
  request.set_external_volume_id(csi_remote_id(row));
  *request.mutable_capability() = row.requested_capabilities(0);
  *request.mutable_mount_options() = row.mount_options();
  request.set_capacity_min(row.requested_capacity_min());
  request.set_capacity_max(row.requested_capacity_max());
  *request.mutable_secrets() = draft.secrets;
  DROVER_TRY(const v1::CsiExpandResponse grown,
             controllers().call<v1::CsiExpandResponse>("Expand", std::move(request), call.stop()));
  if (grown.needs_node()) DROVER_RETURN_IF_ERROR(expand_on_nodes(draft, call));
  row.set_capacity(grown.capacity());
  return ok_status();
}

Status VolumeRpc::expand_on_nodes(const Draft& draft, Call& call) const {
  const v1::CsiVolume& row = draft.row;
  for (const v1::CsiClaim& claim : claims_on(*host_->snapshot(), tables_, row.namespace_(), row.id())) {
    if (claim.step() != v1::CSI_CLAIM_STEP_ATTACHED) continue;
    v1::CsiNodeExpandRequest request;
    request.set_node_id(claim.node_id());
    request.set_plugin_id(row.plugin_id());
    request.set_namespace_(row.namespace_());
    request.set_volume_id(row.id());
    request.set_external_volume_id(csi_remote_id(row));
    request.set_alloc_id(claim.alloc_id());
    request.set_capacity_min(row.requested_capacity_min());
    request.set_capacity_max(row.requested_capacity_max());
    *request.mutable_secrets() = draft.secrets;
    CallContext context = node_call(*host_, "NodeExpand", call.stop());
    const Status status = drover::call<v1::CsiExpandResponse>(host_->caller(), std::move(context), request).status();
    if (!status.ok())
      return status.with_context("the volume is larger at its storage, but not yet on node " +
                                 Uuid::from_bytes(claim.node_id()).to_string());
  }
  return ok_status();
}

Result<uint64_t> VolumeRpc::put(std::span<const Draft> drafts, uint64_t term, Call& call) const {
  v1::CsiVolumesRegistered command;
  for (const Draft& draft : drafts) {
    auto& one = *command.add_volumes();
    *one.mutable_volume() = draft.row;
    one.set_modify_index(draft.decided_on);
  }
  DROVER_TRY(const Applied applied, host_->propose(command, host_->clock().steady() + kProposeTime, term));
  call.set_index(applied.index);
  return applied.index;
}

Result<v1::VolumesResponse> VolumeRpc::register_volumes(const v1::VolumesRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(check_request(request));
  const uint64_t term = host_->term();
  std::vector<Draft> drafts;
  std::set<std::string> seen;
  for (const v1::Volume& said : request.volumes()) {
    DROVER_TRY(Draft one, draft(said, false, call));
    if (!seen.insert(csi_volume_key(one.row.namespace_(), one.row.id())).second)
      return invalid_argument("volume \"" + one.row.id() + "\" is described twice");
    drafts.push_back(std::move(one));
  }
  for (Draft& draft : drafts) {
    DROVER_RETURN_IF_ERROR(validate(draft, call).with_context("volume \"" + draft.row.id() + "\""));
    DROVER_RETURN_IF_ERROR(expand(draft, call).with_context("volume \"" + draft.row.id() + "\""));
  }
  DROVER_RETURN_IF_ERROR(put(drafts, term, call).status());
  return v1::VolumesResponse();
}

Result<v1::VolumesResponse> VolumeRpc::create(const v1::VolumesRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(check_request(request));
  const uint64_t term = host_->term();
  v1::VolumesResponse response;
  for (const v1::Volume& said : request.volumes()) {
    DROVER_TRY(Draft one, draft(said, true, call));
    const Status done = one.is_new ? create_at_storage(one, said, call) : expand(one, call);
    DROVER_RETURN_IF_ERROR(done.with_context("volume \"" + said.id() + "\""));
    if (const auto put_at = put({&one, 1}, term, call); !put_at) {
      if (!one.is_new) return put_at.status();
      return put_at.status().with_context("the storage has created \"" + one.row.external_id() +
                                          "\" for the volume \"" + said.id() +
                                          "\", but it is not known here: create or register it again");
    }
    v1::Volume& made = *response.add_volumes();
    made.set_id(one.row.id());
    made.set_namespace_(one.row.namespace_());
    made.set_name(one.row.name());
    made.set_external_id(one.row.external_id());
    made.set_plugin_id(one.row.plugin_id());
    made.set_capacity(one.row.capacity());
    *made.mutable_context() = one.row.context();
    *made.mutable_topologies() = one.row.topologies();
    *made.mutable_requested_capabilities() = one.row.requested_capabilities();
  }
  return response;
}

Result<v1::VolumeDoneResponse> VolumeRpc::erase(const v1::DeleteVolumeRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(may_read_plugins(call));
  const uint64_t term = host_->term();
  const auto view = host_->snapshot();
  DROVER_TRY(const v1::CsiVolume row, find(*view, call.query().name_space, request.volume_id()));
  if (!claims_on(*view, tables_, row.namespace_(), row.id()).empty())
    return failed_precondition("volume in use: " + row.id());
  DROVER_RETURN_IF_ERROR(require_ability(*view, tables_, row.plugin_id(),
                                         &v1::CsiControllerInfo::supports_create_delete, "deleting volumes"));
  v1::CsiDeleteRequest asked;
  asked.set_plugin_id(row.plugin_id());
  asked.set_external_volume_id(csi_remote_id(row));
  DROVER_RETURN_IF_ERROR(add_given(*keys_, row, request.secrets(), *asked.mutable_secrets()));
  DROVER_RETURN_IF_ERROR(controllers().call<v1::CsiDoneResponse>("Delete", std::move(asked), call.stop()).status());
  v1::CsiVolumeDeregistered command;
  command.set_namespace_(row.namespace_());
  command.set_id(row.id());
  DROVER_TRY(const Applied applied, host_->propose(command, host_->clock().steady() + kProposeTime, term));
  call.set_index(applied.index);
  return v1::VolumeDoneResponse();
}

Result<v1::ListExternalVolumesResponse> VolumeRpc::list_external(const v1::ListExternalVolumesRequest& request,
                                                                 Call& call) {
  if (request.plugin_id().empty()) return invalid_argument("missing plugin_id");
  DROVER_RETURN_IF_ERROR(require_ability(*host_->snapshot(), tables_, request.plugin_id(),
                                         &v1::CsiControllerInfo::supports_list_volumes, "listing volumes"));
  v1::CsiListRequest asked;
  asked.set_plugin_id(request.plugin_id());
  asked.set_max_entries(call.query().per_page);
  asked.set_starting_token(call.query().next_token);
  DROVER_TRY(v1::CsiListResponse found,
             controllers().call<v1::CsiListResponse>("List", std::move(asked), call.stop()));
  v1::ListExternalVolumesResponse response;
  *response.mutable_volumes() = std::move(*found.mutable_volumes());
  response.set_next_token(found.next_token());
  call.set_next_token(found.next_token());
  return response;
}

Result<v1::VolumeSnapshot> VolumeRpc::snapshot(const v1::VolumeSnapshot& said, Call& call) const {
  const auto view = host_->snapshot();
  if (said.source_volume_id().empty()) return invalid_argument("missing source volume ID");
  DROVER_TRY(const v1::CsiVolume row, find(*view, call.query().name_space, said.source_volume_id()));
  if (!said.plugin_id().empty() && said.plugin_id() != row.plugin_id())
    return invalid_argument("volume \"" + row.id() + "\" is of the plugin \"" + row.plugin_id() + "\"");
  DROVER_RETURN_IF_ERROR(require_ability(*view, tables_, row.plugin_id(),
                                         &v1::CsiControllerInfo::supports_create_delete_snapshot, "snapshots"));
  v1::CsiCreateSnapshotRequest asked;
  asked.set_plugin_id(row.plugin_id());
  asked.set_external_volume_id(csi_remote_id(row));
  asked.set_name(said.name().empty() ? "snapshot-" + Uuid::random().to_string() : said.name());
  *asked.mutable_parameters() = said.parameters();
  DROVER_RETURN_IF_ERROR(add_given(*keys_, row, said.secrets(), *asked.mutable_secrets()));
  const std::string name = asked.name();
  DROVER_TRY(const v1::CsiSnapshotResponse made,
             controllers().call<v1::CsiSnapshotResponse>("CreateSnapshot", std::move(asked), call.stop()));
  v1::VolumeSnapshot shown = shown_snapshot(made.snapshot(), row.plugin_id());
  shown.set_source_volume_id(row.id());
  shown.set_name(name);
  return shown;
}

Result<v1::SnapshotsResponse> VolumeRpc::create_snapshots(const v1::CreateSnapshotsRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(may_read_plugins(call));
  if (request.snapshots().empty()) return invalid_argument("missing snapshot definition");
  v1::SnapshotsResponse response;
  for (const v1::VolumeSnapshot& said : request.snapshots()) {
    DROVER_TRY(*response.add_snapshots(), snapshot(said, call));
  }
  return response;
}

Result<v1::ListSnapshotsResponse> VolumeRpc::list_snapshots(const v1::ListSnapshotsRequest& request, Call& call) {
  if (request.plugin_id().empty()) return invalid_argument("missing plugin_id");
  DROVER_RETURN_IF_ERROR(require_ability(*host_->snapshot(), tables_, request.plugin_id(),
                                         &v1::CsiControllerInfo::supports_list_snapshots, "listing snapshots"));
  v1::CsiListSnapshotsRequest asked;
  asked.set_plugin_id(request.plugin_id());
  asked.set_max_entries(call.query().per_page);
  asked.set_starting_token(call.query().next_token);
  *asked.mutable_secrets() = request.secrets();
  DROVER_TRY(const v1::CsiListSnapshotsResponse found,
             controllers().call<v1::CsiListSnapshotsResponse>("ListSnapshots", std::move(asked), call.stop()));
  v1::ListSnapshotsResponse response;
  for (const v1::CsiExternalSnapshot& each : found.snapshots())
    *response.add_snapshots() = shown_snapshot(each, request.plugin_id());
  response.set_next_token(found.next_token());
  call.set_next_token(found.next_token());
  return response;
}

Result<v1::VolumeDoneResponse> VolumeRpc::delete_snapshot(const v1::DeleteSnapshotRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(may_read_plugins(call));
  if (request.plugin_id().empty()) return invalid_argument("missing plugin_id");
  if (request.snapshot_id().empty()) return invalid_argument("missing snapshot_id");
  DROVER_RETURN_IF_ERROR(require_ability(*host_->snapshot(), tables_, request.plugin_id(),
                                         &v1::CsiControllerInfo::supports_create_delete_snapshot, "snapshots"));
  v1::CsiDeleteSnapshotRequest asked;
  asked.set_plugin_id(request.plugin_id());
  asked.set_snapshot_id(request.snapshot_id());
  *asked.mutable_secrets() = request.secrets();
  DROVER_RETURN_IF_ERROR(
      controllers().call<v1::CsiDoneResponse>("DeleteSnapshot", std::move(asked), call.stop()).status());
  return v1::VolumeDoneResponse();
}

}  // namespace drover::volumes
