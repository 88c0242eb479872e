#include "volume_rpc.h"

#include <algorithm>

#include "claims/claim_groups.h"
#include "drover/api/volumes.pb.h"
#include "drover/model/listing.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node_csi.pb.h"
#include "rights.h"
#include "shown.h"
#include "volumes.pb.h"

namespace drover::volumes {
namespace {

constexpr std::string_view kCsi = "csi";

bool claims_on_node(const ReadView& view, const Tables& tables, const v1::CsiVolume& row, const std::string& node_id) {
  return std::ranges::any_of(claims_on(view, tables, row.namespace_(), row.id()),
                             [&](const v1::CsiClaim& claim) { return claim.node_id() == node_id; });
}

// The claim goes on its way back at once, or is tried again at once where it is on it.
v1::CsiClaimMove given_back(const v1::CsiClaim& claim) {
  const bool is_leaving =
      claim.step() == v1::CSI_CLAIM_STEP_RELEASING || claim.step() == v1::CSI_CLAIM_STEP_NODE_RELEASED;
  return move_of(claim, is_leaving ? claim.step() : v1::CSI_CLAIM_STEP_RELEASING);
}

}  // namespace

Status VolumeRpc::declare(Declarations& declare) {
  DROVER_RETURN_IF_ERROR(declare.service(
      "drover.v1.Volumes",
      {method<&VolumeRpc::list>("List", this), method<&VolumeRpc::get>("Get", this),
       method<&VolumeRpc::explain>("Explain", this), method<&VolumeRpc::register_volumes>("Register", this),
       method<&VolumeRpc::create>("Create", this), method<&VolumeRpc::deregister>("Deregister", this),
       method<&VolumeRpc::erase>("Delete", this), method<&VolumeRpc::detach>("Detach", this),
       method<&VolumeRpc::list_external>("ListExternal", this),
       method<&VolumeRpc::create_snapshots>("CreateSnapshots", this),
       method<&VolumeRpc::list_snapshots>("ListSnapshots", this),
       method<&VolumeRpc::delete_snapshot>("DeleteSnapshot", this)}));
  return declare.service("drover.v1.CsiPlugins", {method<&VolumeRpc::list_plugins>("List", this),
                                                  method<&VolumeRpc::get_plugin>("Get", this)});
}

void VolumeRpc::start(Host& host, Keyring& keys) {
  host_ = &host;
  keys_ = &keys;
}

Result<v1::CsiVolume> VolumeRpc::find(const ReadView& view, const std::string& name_space,
                                      const std::string& id) const {
  auto row = tables_.volumes.get(view, csi_volume_key(name_space, id));
  if (!row) return not_found(std::string(kUnknownVolume));
  return *std::move(row);
}

Result<v1::ListVolumesResponse> VolumeRpc::list(const v1::ListVolumesRequest& request, Call& call) {
  DROVER_TRY(const Listing listing, Listing::by_name(call.query()));
  v1::ListVolumesResponse response;
  call.set_index(std::max<uint64_t>(call.view().table_index(tables_.volumes.id()), 1));
  if (request.type() != kCsi) return response;
  PluginStates plugins(call.view(), tables_);
  const auto whole = [&](const Cursor& cursor) {
    const auto row = Table<v1::CsiVolume>::parse(cursor.row());
    return stub_of(row, claims_on(call.view(), tables_, row.namespace_(), row.id()), plugins.of(row.plugin_id()));
  };
  const auto each = [&](const Cursor& cursor) -> std::optional<v1::VolumeStub> {
    const auto row = Table<v1::CsiVolume>::parse(cursor.row());
    if (!request.plugin_id().empty() && row.plugin_id() != request.plugin_id()) return std::nullopt;
    if (!request.node_id().empty() && !claims_on_node(call.view(), tables_, row, request.node_id()))
      return std::nullopt;
    return whole(cursor);
  };
  const auto add = [&](v1::VolumeStub&& stub) { *response.add_volumes() = std::move(stub); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.volumes, each, add, whole));
  return response;
}

Result<v1::ReadVolumeResponse> VolumeRpc::get(const v1::ReadVolumeRequest& request, Call& call) {
  DROVER_TRY(const v1::CsiVolume row, find(call.view(), call.query().name_space, request.volume_id()));
  v1::ReadVolumeResponse response;
  *response.mutable_volume() = shown_volume(row, tables_, call);
  return response;
}

Result<v1::ExplainVolumeResponse> VolumeRpc::explain(const v1::ReadVolumeRequest& request, Call& call) {
  const std::string& name_space = call.query().name_space;
  const auto claims = claims_on(call.view(), tables_, name_space, request.volume_id());
  if (claims.empty()) DROVER_RETURN_IF_ERROR(find(call.view(), name_space, request.volume_id()).status());
  return explained(claims, call.view(), tables_);
}

Result<Write<v1::VolumeDoneResponse>> VolumeRpc::deregister(const v1::DeregisterVolumeRequest& request, Call& call) {
  DROVER_TRY(const v1::CsiVolume row, find(call.view(), call.query().name_space, request.volume_id()));
  v1::CsiVolumeDeregistered command;
  command.set_namespace_(row.namespace_());
  command.set_id(row.id());
  command.set_force(request.force());
  return Write<v1::VolumeDoneResponse>(command, v1::VolumeDoneResponse());
}

Result<Write<v1::VolumeDoneResponse>> VolumeRpc::detach(const v1::DetachVolumeRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(may_read_plugins(call));
  if (request.node().empty()) return invalid_argument("missing node ID");
  const std::string& name_space = call.query().name_space;
  v1::CsiClaimsMoved command;
  command.set_time(host_->clock().wall_ns());
  for (const v1::CsiClaim& claim : claims_on(call.view(), tables_, name_space, request.volume_id())) {
    if (claim.node_id() != request.node()) continue;
    if (!has_ended(call.view(), tables_, claim.alloc_id()))
      return failed_precondition("allocation " + Uuid::from_bytes(claim.alloc_id()).to_string() +
                                 " uses the volume on that node: stop it first");
    *command.add_moves() = given_back(claim);
  }
  if (command.moves().empty()) {
    DROVER_RETURN_IF_ERROR(find(call.view(), name_space, request.volume_id()).status());
    return not_found("no claim on the volume is held by that node");
  }
  return Write<v1::VolumeDoneResponse>(command, v1::VolumeDoneResponse());
}

Result<v1::ListCsiPluginsResponse> VolumeRpc::list_plugins(const v1::ListCsiPluginsRequest& request, Call& call) {
  v1::ListCsiPluginsResponse response;
  if (request.type() != kCsi) return response;
  for (const std::string& id : storage_plugin_ids(call.view(), tables_)) {
    if (id.starts_with(call.query().prefix))
      *response.add_plugins() = stub_of(id, storage_plugin(call.view(), tables_, id));
  }
  return response;
}

Result<v1::CsiPluginResponse> VolumeRpc::get_plugin(const v1::CsiPluginRequest& request, Call& call) {
  const StoragePlugin plugin = storage_plugin(call.view(), tables_, request.plugin_id());
  if (!plugin.is_known()) return not_found("plugin not found");
  v1::CsiPluginResponse response;
  *response.mutable_plugin() = shown_plugin(request.plugin_id(), plugin, tables_, call);
  return response;
}

}  // namespace drover::volumes
