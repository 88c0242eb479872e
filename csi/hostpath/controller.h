// The service Controller: makes volumes and snapshots, and attaches. The ledger decides; this makes the folders, and
// stores each step before the next. [any]
#pragma once

#include <functional>
#include <string>

#include "drover/result.h"

namespace csi::v1 {
class ControllerExpandVolumeRequest;
class ControllerExpandVolumeResponse;
class ControllerGetCapabilitiesRequest;
class ControllerGetCapabilitiesResponse;
class ControllerGetVolumeRequest;
class ControllerGetVolumeResponse;
class ControllerPublishVolumeRequest;
class ControllerPublishVolumeResponse;
class ControllerUnpublishVolumeRequest;
class ControllerUnpublishVolumeResponse;
class CreateSnapshotRequest;
class CreateSnapshotResponse;
class CreateVolumeRequest;
class CreateVolumeResponse;
class DeleteSnapshotRequest;
class DeleteSnapshotResponse;
class DeleteVolumeRequest;
class DeleteVolumeResponse;
class GetCapacityRequest;
class GetCapacityResponse;
class GetSnapshotRequest;
class GetSnapshotResponse;
class ListSnapshotsRequest;
class ListSnapshotsResponse;
class ListVolumesRequest;
class ListVolumesResponse;
class ValidateVolumeCapabilitiesRequest;
class ValidateVolumeCapabilitiesResponse;
}  // namespace csi::v1

namespace drover::hostpath {

class State;
struct Plugin;

class Controller {
 public:
  explicit Controller(Plugin& plugin) : plugin_(plugin) {}

  Result<csi::v1::ControllerGetCapabilitiesResponse> capabilities(
      const csi::v1::ControllerGetCapabilitiesRequest& request);
  Result<csi::v1::CreateVolumeResponse> create(const csi::v1::CreateVolumeRequest& request);
  Result<csi::v1::DeleteVolumeResponse> remove(const csi::v1::DeleteVolumeRequest& request);
  Result<csi::v1::ControllerPublishVolumeResponse> attach(const csi::v1::ControllerPublishVolumeRequest& request);
  Result<csi::v1::ControllerUnpublishVolumeResponse> detach(const csi::v1::ControllerUnpublishVolumeRequest& request);
  Result<csi::v1::ValidateVolumeCapabilitiesResponse> validate(
      const csi::v1::ValidateVolumeCapabilitiesRequest& request);
  Result<csi::v1::ListVolumesResponse> list(const csi::v1::ListVolumesRequest& request);
  Result<csi::v1::ControllerGetVolumeResponse> get(const csi::v1::ControllerGetVolumeRequest& request);
  Result<csi::v1::GetCapacityResponse> capacity(const csi::v1::GetCapacityRequest& request);
  Result<csi::v1::ControllerExpandVolumeResponse> expand(const csi::v1::ControllerExpandVolumeRequest& request);

  Result<csi::v1::CreateSnapshotResponse> create_snapshot(const csi::v1::CreateSnapshotRequest& request);
  Result<csi::v1::DeleteSnapshotResponse> remove_snapshot(const csi::v1::DeleteSnapshotRequest& request);
  Result<csi::v1::ListSnapshotsResponse> list_snapshots(const csi::v1::ListSnapshotsRequest& request);
  Result<csi::v1::GetSnapshotResponse> get_snapshot(const csi::v1::GetSnapshotRequest& request);

 private:
  Plugin& plugin_;
};

}  // namespace drover::hostpath
