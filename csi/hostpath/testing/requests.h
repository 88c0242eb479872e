// Requests as tests of the plugin make them, of the ledger and over the socket.
#pragma once

#include <string>

#include "csi/v1/csi.pb.h"

namespace drover::hostpath {

using Mode = csi::v1::VolumeCapability::AccessMode;

inline csi::v1::VolumeCapability mounted(Mode::Mode mode = Mode::SINGLE_NODE_WRITER) {
  csi::v1::VolumeCapability capability;
  capability.mutable_mount();
  capability.mutable_access_mode()->set_mode(mode);
  return capability;
}

inline csi::v1::VolumeCapability block(Mode::Mode mode = Mode::SINGLE_NODE_WRITER) {
  csi::v1::VolumeCapability capability;
  capability.mutable_block();
  capability.mutable_access_mode()->set_mode(mode);
  return capability;
}

inline csi::v1::CreateVolumeRequest create(const std::string& name, int64_t required = 0, int64_t limit = 0,
                                           const csi::v1::VolumeCapability& capability = mounted()) {
  csi::v1::CreateVolumeRequest request;
  request.set_name(name);
  *request.add_volume_capabilities() = capability;
  if (required) request.mutable_capacity_range()->set_required_bytes(required);
  if (limit) request.mutable_capacity_range()->set_limit_bytes(limit);
  return request;
}

inline csi::v1::ControllerPublishVolumeRequest attach_to(const std::string& volume, const std::string& node,
                                                         const csi::v1::VolumeCapability& capability = mounted(),
                                                         bool readonly = false) {
  csi::v1::ControllerPublishVolumeRequest request;
  request.set_volume_id(volume);
  request.set_node_id(node);
  *request.mutable_volume_capability() = capability;
  request.set_readonly(readonly);
  return request;
}

inline csi::v1::ControllerUnpublishVolumeRequest detach_from(const std::string& volume, const std::string& node) {
  csi::v1::ControllerUnpublishVolumeRequest request;
  request.set_volume_id(volume);
  request.set_node_id(node);
  return request;
}

inline csi::v1::NodeStageVolumeRequest stage_at(const std::string& volume, const std::string& path,
                                                const csi::v1::VolumeCapability& capability = mounted()) {
  csi::v1::NodeStageVolumeRequest request;
  request.set_volume_id(volume);
  request.set_staging_target_path(path);
  *request.mutable_volume_capability() = capability;
  return request;
}

inline csi::v1::NodePublishVolumeRequest publish_at(const std::string& volume, const std::string& staging,
                                                    const std::string& target,
                                                    const csi::v1::VolumeCapability& capability = mounted(),
                                                    bool readonly = false) {
  csi::v1::NodePublishVolumeRequest request;
  request.set_volume_id(volume);
  request.set_staging_target_path(staging);
  request.set_target_path(target);
  *request.mutable_volume_capability() = capability;
  request.set_readonly(readonly);
  return request;
}

inline csi::v1::CreateSnapshotRequest snapshot_of(const std::string& volume, const std::string& name) {
  csi::v1::CreateSnapshotRequest request;
  request.set_source_volume_id(volume);
  request.set_name(name);
  return request;
}

}  // namespace drover::hostpath
