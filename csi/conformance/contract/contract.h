// The judgement of answers, by the specification. Pure. An error names the field and the rule that it breaks.
#pragma once

#include <initializer_list>
#include <string_view>

#include "drover/result.h"

namespace csi::v1 {
class ControllerGetCapabilitiesResponse;
class CreateSnapshotRequest;
class CreateVolumeRequest;
class GetCapacityResponse;
class GetPluginCapabilitiesResponse;
class GetPluginInfoResponse;
class NodeGetCapabilitiesResponse;
class NodeGetInfoResponse;
class NodeGetVolumeStatsResponse;
class Snapshot;
class ValidateVolumeCapabilitiesRequest;
class ValidateVolumeCapabilitiesResponse;
class Volume;
}  // namespace csi::v1

namespace drover::csi_kit::contract {

Status expect(bool holds, std::string what);
// One of the codes that are right.
Status one_of(const Status& came, std::initializer_list<Code> right);

// At most 63 characters, letters, digits, '-' and '.', alphanumeric at both ends.
bool is_plugin_name(std::string_view name);
Status plugin_name(const ::csi::v1::GetPluginInfoResponse& info);
// No type that is unknown to all, none twice.
Status capabilities(const ::csi::v1::GetPluginCapabilitiesResponse& answer);
Status capabilities(const ::csi::v1::ControllerGetCapabilitiesResponse& answer);
Status capabilities(const ::csi::v1::NodeGetCapabilitiesResponse& answer);
// A capability that makes sense with another one only comes with it.
Status consistent(const ::csi::v1::ControllerGetCapabilitiesResponse& answer);

Status identifier(std::string_view id, std::string_view field, size_t most = 128);
Status room(const ::csi::v1::GetCapacityResponse& answer);
Status capacity(const ::csi::v1::CreateVolumeRequest& asked, const ::csi::v1::Volume& volume);
Status source(const ::csi::v1::CreateVolumeRequest& asked, const ::csi::v1::Volume& volume);
Status places(const ::csi::v1::Volume& volume);
Status context_size(size_t bytes, std::string_view field);
Status confirmed(const ::csi::v1::ValidateVolumeCapabilitiesRequest& asked,
                 const ::csi::v1::ValidateVolumeCapabilitiesResponse& answer);
Status snapshot(const ::csi::v1::CreateSnapshotRequest& asked, const ::csi::v1::Snapshot& snapshot);
Status usage(const ::csi::v1::NodeGetVolumeStatsResponse& answer);

// The code of a second NodePublishVolume on the same node: the table of the specification. `mode`: AccessMode.Mode.
Code second_publish(int mode, bool is_same_target, bool are_same_arguments);

}  // namespace drover::csi_kit::contract
