#include "controller.h"

#include <algorithm>

#include "csi/v1/csi.pb.h"
#include "drover/clock.h"
#include "drover/uuid.h"
#include "hostpath.pb.h"
#include "ledger/checks.h"
#include "ledger/places.h"
#include "ledger/sizes.h"
#include "ledger/snapshots.h"
#include "ledger/volumes.h"
#include "plugin.h"

namespace drover::hostpath {
namespace {

std::string source_of(const csi::v1::VolumeContentSource& from) {
  return from.has_snapshot() ? from.snapshot().snapshot_id() : from.volume().volume_id();
}

// One result of a look at the state or a change of it.
template <typename T, typename Look>
Result<T> looked(Store& store, const Look& look) {
  T value;
  DROVER_RETURN_IF_ERROR(store.read([&](const State& state) -> Status {
    DROVER_TRY(value, look(state));
    return {};
  }));
  return value;
}
template <typename T, typename Change>
Result<T> changed(Store& store, const Change& change) {
  T value;
  DROVER_RETURN_IF_ERROR(store.change([&](State& state) -> Status {
    DROVER_TRY(value, change(state));
    return {};
  }));
  return value;
}

using Step = void (*)(State& state, const std::string& id);

Status take(Store& store, Step step, const std::string& id) {
  return store.change([&](State& state) {
    step(state, id);
    return ok_status();
  });
}

// Fills what a row stands for; what cannot be made leaves nothing.
template <typename Row>
Status make(Plugin& plugin, const Row& row, Step end, Step forget) {
  const Status made = plugin.storage.make(row);
  if (made.ok()) return take(plugin.store, end, row.id());
  DROVER_RETURN_IF_ERROR(plugin.storage.remove(row));
  DROVER_RETURN_IF_ERROR(take(plugin.store, forget, row.id()));
  return made;
}

}  // namespace

Result<csi::v1::ControllerGetCapabilitiesResponse> Controller::capabilities(
    const csi::v1::ControllerGetCapabilitiesRequest&) {
  using Rpc = csi::v1::ControllerServiceCapability::RPC;
  std::vector<Rpc::Type> types = {Rpc::CREATE_DELETE_VOLUME,
                                  Rpc::LIST_VOLUMES,
                                  Rpc::GET_CAPACITY,
                                  Rpc::CREATE_DELETE_SNAPSHOT,
                                  Rpc::LIST_SNAPSHOTS,
                                  Rpc::GET_SNAPSHOT,
                                  Rpc::CLONE_VOLUME,
                                  Rpc::EXPAND_VOLUME,
                                  Rpc::VOLUME_CONDITION,
                                  Rpc::GET_VOLUME,
                                  Rpc::SINGLE_NODE_MULTI_WRITER};
  if (plugin_.settings.attaches) {
    for (const auto type : {Rpc::PUBLISH_UNPUBLISH_VOLUME, Rpc::PUBLISH_READONLY, Rpc::LIST_VOLUMES_PUBLISHED_NODES})
      types.push_back(type);
  }
  csi::v1::ControllerGetCapabilitiesResponse response;
  for (const auto type : types) response.add_capabilities()->mutable_rpc()->set_type(type);
  return response;
}

Result<csi::v1::CreateVolumeResponse> Controller::create(const csi::v1::CreateVolumeRequest& request) {
  DROVER_TRY(const Busy::Hold hold,
             plugin_.busy.take({"name " + request.name(), source_of(request.volume_content_source())}));
  DROVER_TRY(const Room disk, plugin_.storage.room());
  DROVER_TRY(const Volume volume, changed<Volume>(plugin_.store, [&](State& state) {
               return begin_create(state, plugin_.settings, disk, Uuid::random().to_string(), request);
             }));
  csi::v1::CreateVolumeResponse response;
  *response.mutable_volume() = described(volume);
  if (volume.stage() != STAGE_READY) {
    DROVER_RETURN_IF_ERROR(make(plugin_, volume, end_create, end_delete));
  }
  return response;
}

Result<csi::v1::DeleteVolumeResponse> Controller::remove(const csi::v1::DeleteVolumeRequest& request) {
  DROVER_TRY(const Busy::Hold hold, plugin_.busy.take({request.volume_id()}));
  DROVER_TRY(const std::optional<Volume> volume, changed<std::optional<Volume>>(plugin_.store, [&](State& state) {
               return begin_delete(state, plugin_.settings, request.volume_id());
             }));
  if (!volume) return csi::v1::DeleteVolumeResponse();
  DROVER_RETURN_IF_ERROR(plugin_.storage.remove(*volume));
  DROVER_RETURN_IF_ERROR(take(plugin_.store, end_delete, volume->id()));
  return csi::v1::DeleteVolumeResponse();
}

Result<csi::v1::ControllerPublishVolumeResponse> Controller::attach(
    const csi::v1::ControllerPublishVolumeRequest& request) {
  DROVER_TRY(const Busy::Hold hold, plugin_.busy.take({request.volume_id()}));
  DROVER_TRY(const std::string token,
             changed<std::string>(plugin_.store, [&](State& state) { return hostpath::attach(state, request); }));
  csi::v1::ControllerPublishVolumeResponse response;
  (*response.mutable_publish_context())[std::string(kAttachment)] = token;
  return response;
}

Result<csi::v1::ControllerUnpublishVolumeResponse> Controller::detach(
    const csi::v1::ControllerUnpublishVolumeRequest& request) {
  DROVER_TRY(const Busy::Hold hold, plugin_.busy.take({request.volume_id()}));
  DROVER_RETURN_IF_ERROR(plugin_.store.change([&](State& state) { return hostpath::detach(state, request); }));
  return csi::v1::ControllerUnpublishVolumeResponse();
}

Result<csi::v1::ValidateVolumeCapabilitiesResponse> Controller::validate(
    const csi::v1::ValidateVolumeCapabilitiesRequest& request) {
  return looked<csi::v1::ValidateVolumeCapabilitiesResponse>(
      plugin_.store, [&](const State& state) { return hostpath::validate(state, request); });
}

Result<csi::v1::ListVolumesResponse> Controller::list(const csi::v1::ListVolumesRequest& request) {
  DROVER_TRY(const State state, looked<State>(plugin_.store, [](const State& seen) { return Result<State>(seen); }));
  return list_volumes(state, request, [this](const Volume& each) { return plugin_.storage.complaint(each); });
}

Result<csi::v1::ControllerGetVolumeResponse> Controller::get(const csi::v1::ControllerGetVolumeRequest& request) {
  DROVER_TRY(const State state, looked<State>(plugin_.store, [](const State& seen) { return Result<State>(seen); }));
  return get_volume(state, request.volume_id(), [this](const Volume& each) { return plugin_.storage.complaint(each); });
}

Result<csi::v1::GetCapacityResponse> Controller::capacity(const csi::v1::GetCapacityRequest& request) {
  for (const auto& each : request.volume_capabilities()) {
    DROVER_RETURN_IF_ERROR(capability_of(each).status());
  }
  DROVER_TRY(const Room disk, plugin_.storage.room());
  DROVER_TRY(const Room room, looked<Room>(plugin_.store, [&](const State& state) {
               return Result<Room>(room_of(state, plugin_.settings, disk));
             }));
  const bool is_elsewhere =
      request.has_accessible_topology() && !is_here(plugin_.settings, request.accessible_topology());
  csi::v1::GetCapacityResponse response;
  response.set_available_capacity(is_elsewhere ? 0 : room.left);
  response.mutable_maximum_volume_size()->set_value(is_elsewhere ? 0 : room.left);
  response.mutable_minimum_volume_size()->set_value(kBlock);
  return response;
}

Result<csi::v1::ControllerExpandVolumeResponse> Controller::expand(
    const csi::v1::ControllerExpandVolumeRequest& request) {
  DROVER_TRY(const Busy::Hold hold, plugin_.busy.take({request.volume_id()}));
  DROVER_TRY(const Room disk, plugin_.storage.room());
  DROVER_TRY(const Volume volume, looked<Volume>(plugin_.store, [&](const State& state) {
               return expanded(state, plugin_.settings, disk, request);
             }));
  DROVER_RETURN_IF_ERROR(plugin_.storage.grow(volume));
  csi::v1::ControllerExpandVolumeResponse response;
  response.set_capacity_bytes(volume.capacity());
  DROVER_RETURN_IF_ERROR(plugin_.store.change([&](State& state) {
    set_capacity(state, volume.id(), volume.capacity());
    // A loop device learns the new size of its file on the node.
    response.set_node_expansion_required(volume.is_block() && is_in_use(state, volume.id()));
    return ok_status();
  }));
  return response;
}

Result<csi::v1::CreateSnapshotResponse> Controller::create_snapshot(const csi::v1::CreateSnapshotRequest& request) {
  DROVER_TRY(const Busy::Hold hold, plugin_.busy.take({"snapshot " + request.name(), request.source_volume_id()}));
  DROVER_TRY(const Room disk, plugin_.storage.room());
  const int64_t now = SystemClock().wall_ns();
  DROVER_TRY(Snapshot snapshot, changed<Snapshot>(plugin_.store, [&](State& state) {
               return begin_snapshot(state, plugin_.settings, disk, Uuid::random().to_string(), now, request);
             }));
  if (snapshot.stage() != STAGE_READY) {
    DROVER_RETURN_IF_ERROR(make(plugin_, snapshot, end_snapshot, end_delete_snapshot));
    snapshot.set_stage(STAGE_READY);
  }
  csi::v1::CreateSnapshotResponse response;
  *response.mutable_snapshot() = described(snapshot);
  return response;
}

Result<csi::v1::DeleteSnapshotResponse> Controller::remove_snapshot(const csi::v1::DeleteSnapshotRequest& request) {
  DROVER_TRY(const Busy::Hold hold, plugin_.busy.take({request.snapshot_id()}));
  DROVER_TRY(const std::optional<Snapshot> snapshot, changed<std::optional<Snapshot>>(plugin_.store, [&](State& state) {
               return begin_delete_snapshot(state, plugin_.settings, request.snapshot_id());
             }));
  if (!snapshot) return csi::v1::DeleteSnapshotResponse();
  DROVER_RETURN_IF_ERROR(plugin_.storage.remove(*snapshot));
  DROVER_RETURN_IF_ERROR(take(plugin_.store, end_delete_snapshot, snapshot->id()));
  return csi::v1::DeleteSnapshotResponse();
}

Result<csi::v1::ListSnapshotsResponse> Controller::list_snapshots(const csi::v1::ListSnapshotsRequest& request) {
  return looked<csi::v1::ListSnapshotsResponse>(
      plugin_.store, [&](const State& state) { return hostpath::list_snapshots(state, request); });
}

Result<csi::v1::GetSnapshotResponse> Controller::get_snapshot(const csi::v1::GetSnapshotRequest& request) {
  DROVER_RETURN_IF_ERROR(check_id(request.snapshot_id(), "snapshot_id"));
  return looked<csi::v1::GetSnapshotResponse>(plugin_.store,
                                              [&](const State& state) -> Result<csi::v1::GetSnapshotResponse> {
                                                const Snapshot* found = find_snapshot(state, request.snapshot_id());
                                                if (!found) return not_found("there is no such snapshot");
                                                csi::v1::GetSnapshotResponse response;
                                                *response.mutable_snapshot() = described(*found);
                                                return response;
                                              });
}

}  // namespace drover::hostpath
