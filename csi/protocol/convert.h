// Between the messages of the Container Storage Interface and ours. Pure. [any]
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "csi/protocol/messages.h"
#include "drover/result.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node_csi.pb.h"

namespace drover::csi {

// The capability in the plugin's words. Mount options count for file systems only. Errors: invalid_argument for a mode
// that is none.
Result<csi::v1::VolumeCapability> capability_of(const std::string& access_mode, const std::string& attachment_mode,
                                                const drover::v1::MountOptions& options);

// A plugin's words about itself, as a node tells them to the servers.
drover::v1::CsiControllerInfo controller_info_of(const csi::v1::ControllerGetCapabilitiesResponse& capabilities);
// Errors: internal when the plugin's answer breaks the contract.
Result<drover::v1::CsiNodeInfo> node_info_of(const csi::v1::NodeGetInfoResponse& info,
                                             const csi::v1::NodeGetCapabilitiesResponse& capabilities);

// Errors: internal when the plugin's answer breaks the contract: an identifier is missing or too long.
Result<drover::v1::CsiCreateResponse> created_of(const csi::v1::CreateVolumeResponse& response);
Result<drover::v1::CsiListResponse> listed_of(const csi::v1::ListVolumesResponse& response);
Result<drover::v1::CsiExternalSnapshot> snapshot_of(const csi::v1::Snapshot& snapshot);

csi::v1::TopologyRequirement requirement_of(const drover::v1::CsiTopologyRequest& wanted);

// Ok when the plugin confirmed all that was asked. Errors: invalid_argument naming what it did not confirm, with the
// plugin's own message.
Status confirmed(const csi::v1::ValidateVolumeCapabilitiesRequest& asked,
                 const csi::v1::ValidateVolumeCapabilitiesResponse& answer);

}  // namespace drover::csi
