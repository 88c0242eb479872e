#include "node.h"

#include <algorithm>

#include "csi/v1/csi.pb.h"
#include "disk/binds.h"
#include "disk/loops.h"
#include "hostpath.pb.h"
#include "ledger/checks.h"
#include "ledger/mounted.h"
#include "ledger/volumes.h"
#include "plugin.h"

namespace drover::hostpath {
namespace {

void add_usage(csi::v1::NodeGetVolumeStatsResponse& response, csi::v1::VolumeUsage::Unit unit, int64_t total,
               int64_t used, int64_t available) {
  csi::v1::VolumeUsage& usage = *response.add_usage();
  usage.set_unit(unit);
  usage.set_total(total);
  usage.set_used(used);
  usage.set_available(available);
}

// A folder may hold its capacity, as far as there is room below it.
void add_usage(csi::v1::NodeGetVolumeStatsResponse& response, const Volume& volume, const Usage& usage) {
  const int64_t left = std::clamp<int64_t>(volume.capacity() - usage.bytes, 0, usage.free_bytes);
  add_usage(response, csi::v1::VolumeUsage::BYTES, volume.capacity(), usage.bytes, left);
  add_usage(response, csi::v1::VolumeUsage::INODES, usage.all_inodes, usage.inodes, usage.free_inodes);
}

}  // namespace

Result<csi::v1::NodeGetCapabilitiesResponse> NodeService::capabilities(const csi::v1::NodeGetCapabilitiesRequest&) {
  using Rpc = csi::v1::NodeServiceCapability::RPC;
  csi::v1::NodeGetCapabilitiesResponse response;
  for (const auto type : {Rpc::STAGE_UNSTAGE_VOLUME, Rpc::GET_VOLUME_STATS, Rpc::EXPAND_VOLUME, Rpc::VOLUME_CONDITION,
                          Rpc::SINGLE_NODE_MULTI_WRITER})
    response.add_capabilities()->mutable_rpc()->set_type(type);
  return response;
}

Result<csi::v1::NodeGetInfoResponse> NodeService::info(const csi::v1::NodeGetInfoRequest&) {
  csi::v1::NodeGetInfoResponse response;
  response.set_node_id(plugin_.settings.node_id);
  response.set_max_volumes_per_node(plugin_.settings.max_volumes);
  for (const auto& [key, value] : plugin_.settings.topology)
    (*response.mutable_accessible_topology()->mutable_segments())[key] = value;
  return response;
}

Result<csi::v1::NodeStageVolumeResponse> NodeService::stage(const csi::v1::NodeStageVolumeRequest& request) {
  DROVER_TRY(const Busy::Hold hold, plugin_.busy.take({request.volume_id()}));
  Staged staged;
  Volume volume;
  DROVER_RETURN_IF_ERROR(plugin_.store.change([&](State& state) -> Status {
    DROVER_TRY(staged, hostpath::stage(state, plugin_.settings, request));
    DROVER_TRY(volume, existing_volume(state, staged.volume_id()));
    return {};
  }));
  // A block device is made where it is published, for reading alone or for both.
  if (volume.is_block()) return csi::v1::NodeStageVolumeResponse();
  const unsigned long flags = mount_flags_of(staged.capability().mount_flags(), is_reader_only(staged.capability()));
  DROVER_RETURN_IF_ERROR(bind_mount(plugin_.storage.path_of(volume), staged.path(), flags));
  return csi::v1::NodeStageVolumeResponse();
}

Result<csi::v1::NodeUnstageVolumeResponse> NodeService::unstage(const csi::v1::NodeUnstageVolumeRequest& request) {
  DROVER_TRY(const Busy::Hold hold, plugin_.busy.take({request.volume_id()}));
  std::optional<Staged> staged;
  DROVER_RETURN_IF_ERROR(plugin_.store.read([&](const State& state) -> Status {
    DROVER_TRY(staged, staged_at(state, plugin_.settings, request.volume_id(), request.staging_target_path()));
    return {};
  }));
  if (!staged) return csi::v1::NodeUnstageVolumeResponse();
  if (!staged->capability().is_block()) {
    DROVER_RETURN_IF_ERROR(unbind(staged->path()));
  }
  DROVER_RETURN_IF_ERROR(plugin_.store.change([&](State& state) {
    forget_staged(state, *staged);
    return ok_status();
  }));
  return csi::v1::NodeUnstageVolumeResponse();
}

Status NodeService::mount(const Published& published, const Volume& volume) {
  const bool read_only = is_read_only(published);
  DROVER_RETURN_IF_ERROR(make_target(published.target(), volume.is_block()));
  if (volume.is_block()) {
    DROVER_TRY(const std::string device, attach_loop(plugin_.storage.path_of(volume), read_only));
    return bind_mount(device, published.target(), 0);
  }
  // The staging mount may have gone, when the machine was started anew.
  DROVER_RETURN_IF_ERROR(
      bind_mount(plugin_.storage.path_of(volume), published.staging_path(),
                 mount_flags_of(published.capability().mount_flags(), is_reader_only(published.capability()))));
  return bind_mount(published.staging_path(), published.target(),
                    mount_flags_of(published.capability().mount_flags(), read_only));
}

Result<csi::v1::NodePublishVolumeResponse> NodeService::publish(const csi::v1::NodePublishVolumeRequest& request) {
  DROVER_TRY(const Busy::Hold hold, plugin_.busy.take({request.volume_id()}));
  Published published;
  Volume volume;
  DROVER_RETURN_IF_ERROR(plugin_.store.change([&](State& state) -> Status {
    DROVER_TRY(published, hostpath::publish(state, plugin_.settings, request));
    DROVER_TRY(volume, existing_volume(state, published.volume_id()));
    return {};
  }));
  DROVER_RETURN_IF_ERROR(mount(published, volume));
  return csi::v1::NodePublishVolumeResponse();
}

Result<csi::v1::NodeUnpublishVolumeResponse> NodeService::unpublish(
    const csi::v1::NodeUnpublishVolumeRequest& request) {
  DROVER_TRY(const Busy::Hold hold, plugin_.busy.take({request.volume_id()}));
  std::optional<Published> published;
  Volume volume;
  DROVER_RETURN_IF_ERROR(plugin_.store.read([&](const State& state) -> Status {
    DROVER_TRY(published, published_at(state, plugin_.settings, request.volume_id(), request.target_path()));
    if (!published) return {};
    DROVER_TRY(volume, existing_volume(state, published->volume_id()));
    return {};
  }));
  if (!published) return csi::v1::NodeUnpublishVolumeResponse();
  DROVER_RETURN_IF_ERROR(unbind(published->target()));
  DROVER_RETURN_IF_ERROR(remove_target(published->target()));
  DROVER_RETURN_IF_ERROR(plugin_.store.change([&](State& state) {
    forget_published(state, *published);
    const bool read_only = is_read_only(*published);
    if (!volume.is_block() || needs_device(state, plugin_.settings, volume.id(), read_only)) return ok_status();
    return detach_loop(plugin_.storage.path_of(volume), read_only);
  }));
  return csi::v1::NodeUnpublishVolumeResponse();
}

Result<csi::v1::NodeGetVolumeStatsResponse> NodeService::stats(const csi::v1::NodeGetVolumeStatsRequest& request) {
  DROVER_RETURN_IF_ERROR(check_id(request.volume_id(), "volume_id"));
  if (request.volume_path().empty()) return invalid_argument("volume_path is missing");
  Volume volume;
  DROVER_RETURN_IF_ERROR(plugin_.store.read([&](const State& state) -> Status {
    DROVER_TRY(volume, existing_volume(state, request.volume_id()));
    if (is_mounted_at(state, plugin_.settings, volume.id(), request.volume_path())) return {};
    return not_found("the volume is not at volume_path");
  }));
  csi::v1::NodeGetVolumeStatsResponse response;
  if (volume.is_block()) {
    csi::v1::VolumeUsage& usage = *response.add_usage();  // nobody but its user knows what of it is used
    usage.set_unit(csi::v1::VolumeUsage::BYTES);
    usage.set_total(volume.capacity());
  } else {
    DROVER_TRY(const Usage usage, plugin_.storage.usage(volume));
    add_usage(response, volume, usage);
  }
  std::string why = plugin_.storage.complaint(volume);
  if (why.empty() && !volume.is_block() && !is_mount(request.volume_path()))
    why = "the volume is not mounted there any more";
  response.mutable_volume_condition()->set_abnormal(!why.empty());
  response.mutable_volume_condition()->set_message(why.empty() ? "all is well" : why);
  return response;
}

Result<csi::v1::NodeExpandVolumeResponse> NodeService::expand(const csi::v1::NodeExpandVolumeRequest& request) {
  DROVER_RETURN_IF_ERROR(check_id(request.volume_id(), "volume_id"));
  if (request.volume_path().empty()) return invalid_argument("volume_path is missing");
  DROVER_TRY(const Busy::Hold hold, plugin_.busy.take({request.volume_id()}));
  Volume volume;
  DROVER_RETURN_IF_ERROR(plugin_.store.read([&](const State& state) -> Status {
    DROVER_TRY(volume, existing_volume(state, request.volume_id()));
    if (!is_mounted_at(state, plugin_.settings, volume.id(), request.volume_path()))
      return not_found("the volume is not at volume_path");
    if (request.capacity_range().required_bytes() > volume.capacity())
      return Status(Code::out_of_range, "capacity_range: the controller has not made the volume so large");
    return {};
  }));
  if (volume.is_block()) {
    DROVER_RETURN_IF_ERROR(resize_loops(plugin_.storage.path_of(volume)));
  }
  csi::v1::NodeExpandVolumeResponse response;
  response.set_capacity_bytes(volume.capacity());
  return response;
}

}  // namespace drover::hostpath
