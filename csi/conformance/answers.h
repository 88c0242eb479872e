// The answer that belongs to each request. Declarations for decltype alone.
#pragma once

#include "csi/protocol/messages.h"

namespace drover::csi_kit {

namespace v1 = ::csi::v1;

v1::GetPluginInfoResponse answer_of(const v1::GetPluginInfoRequest&);
v1::GetPluginCapabilitiesResponse answer_of(const v1::GetPluginCapabilitiesRequest&);
v1::ProbeResponse answer_of(const v1::ProbeRequest&);
v1::ControllerGetCapabilitiesResponse answer_of(const v1::ControllerGetCapabilitiesRequest&);
v1::CreateVolumeResponse answer_of(const v1::CreateVolumeRequest&);
v1::DeleteVolumeResponse answer_of(const v1::DeleteVolumeRequest&);
v1::ControllerPublishVolumeResponse answer_of(const v1::ControllerPublishVolumeRequest&);
v1::ControllerUnpublishVolumeResponse answer_of(const v1::ControllerUnpublishVolumeRequest&);
v1::ValidateVolumeCapabilitiesResponse answer_of(const v1::ValidateVolumeCapabilitiesRequest&);
v1::ListVolumesResponse answer_of(const v1::ListVolumesRequest&);
v1::ControllerGetVolumeResponse answer_of(const v1::ControllerGetVolumeRequest&);
v1::ControllerModifyVolumeResponse answer_of(const v1::ControllerModifyVolumeRequest&);
v1::GetCapacityResponse answer_of(const v1::GetCapacityRequest&);
v1::ControllerExpandVolumeResponse answer_of(const v1::ControllerExpandVolumeRequest&);
v1::CreateSnapshotResponse answer_of(const v1::CreateSnapshotRequest&);
v1::DeleteSnapshotResponse answer_of(const v1::DeleteSnapshotRequest&);
v1::ListSnapshotsResponse answer_of(const v1::ListSnapshotsRequest&);
v1::GetSnapshotResponse answer_of(const v1::GetSnapshotRequest&);
v1::CreateVolumeGroupSnapshotResponse answer_of(const v1::CreateVolumeGroupSnapshotRequest&);
v1::NodeGetCapabilitiesResponse answer_of(const v1::NodeGetCapabilitiesRequest&);
v1::NodeGetInfoResponse answer_of(const v1::NodeGetInfoRequest&);
v1::NodeStageVolumeResponse answer_of(const v1::NodeStageVolumeRequest&);
v1::NodeUnstageVolumeResponse answer_of(const v1::NodeUnstageVolumeRequest&);
v1::NodePublishVolumeResponse answer_of(const v1::NodePublishVolumeRequest&);
v1::NodeUnpublishVolumeResponse answer_of(const v1::NodeUnpublishVolumeRequest&);
v1::NodeGetVolumeStatsResponse answer_of(const v1::NodeGetVolumeStatsRequest&);
v1::NodeExpandVolumeResponse answer_of(const v1::NodeExpandVolumeRequest&);

}  // namespace drover::csi_kit
