// The service Node: mounts volumes where the host wants them. The ledger decides; this mounts, after the row is stored,
// and unmounts before it goes. [any]
#pragma once

#include "drover/result.h"

namespace csi::v1 {
class NodeExpandVolumeRequest;
class NodeExpandVolumeResponse;
class NodeGetCapabilitiesRequest;
class NodeGetCapabilitiesResponse;
class NodeGetInfoRequest;
class NodeGetInfoResponse;
class NodeGetVolumeStatsRequest;
class NodeGetVolumeStatsResponse;
class NodePublishVolumeRequest;
class NodePublishVolumeResponse;
class NodeStageVolumeRequest;
class NodeStageVolumeResponse;
class NodeUnpublishVolumeRequest;
class NodeUnpublishVolumeResponse;
class NodeUnstageVolumeRequest;
class NodeUnstageVolumeResponse;
}  // namespace csi::v1

namespace drover::hostpath {

class Published;
class Volume;
struct Plugin;

class NodeService {
 public:
  explicit NodeService(Plugin& plugin) : plugin_(plugin) {}

  Result<csi::v1::NodeGetCapabilitiesResponse> capabilities(const csi::v1::NodeGetCapabilitiesRequest& request);
  Result<csi::v1::NodeGetInfoResponse> info(const csi::v1::NodeGetInfoRequest& request);
  Result<csi::v1::NodeStageVolumeResponse> stage(const csi::v1::NodeStageVolumeRequest& request);
  Result<csi::v1::NodeUnstageVolumeResponse> unstage(const csi::v1::NodeUnstageVolumeRequest& request);
  Result<csi::v1::NodePublishVolumeResponse> publish(const csi::v1::NodePublishVolumeRequest& request);
  Result<csi::v1::NodeUnpublishVolumeResponse> unpublish(const csi::v1::NodeUnpublishVolumeRequest& request);
  Result<csi::v1::NodeGetVolumeStatsResponse> stats(const csi::v1::NodeGetVolumeStatsRequest& request);
  Result<csi::v1::NodeExpandVolumeResponse> expand(const csi::v1::NodeExpandVolumeRequest& request);

 private:
  Status mount(const Published& published, const Volume& volume);

  Plugin& plugin_;
};

}  // namespace drover::hostpath
