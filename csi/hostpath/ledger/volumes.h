// The ledger of volumes: what a call about them answers, given what the plugin remembers. Pure: the caller brings the
// state, new identifiers and times, makes the folders and files, and stores the state. [any]
//
//   begin_create ──▶ making ──end_create──▶ ready ──begin_delete──▶ deleting ──end_delete──▶ gone
//
// Each step is stored before the next begins, so a call that was cut off goes on when it is repeated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "drover/result.h"

namespace csi::v1 {
class ControllerExpandVolumeRequest;
class ControllerGetVolumeResponse;
class ControllerPublishVolumeRequest;
class ControllerUnpublishVolumeRequest;
class CreateVolumeRequest;
class ListVolumesRequest;
class ListVolumesResponse;
class Topology;
class TopologyRequirement;
class ValidateVolumeCapabilitiesRequest;
class ValidateVolumeCapabilitiesResponse;
class Volume;
}  // namespace csi::v1

namespace drover::hostpath {

class Snapshot;
class State;
class Volume;
struct Settings;

// Bytes for volumes and snapshots. `total` bounds a single one.
struct Room {
  int64_t total = 0, left = 0;
};
// `disk`: what the file system has; it counts where the settings say nothing.
Room room_of(const State& state, const Settings& settings, const Room& disk);

const Volume* find_volume(const State& state, const std::string& id);  // null: none that is ready
// Errors: not_found.
Result<Volume> existing_volume(const State& state, const std::string& id);

// A volume that is ready: it was made before. Else the row is new, or one that a former call left: it must be filled.
Result<Volume> begin_create(State& state, const Settings& settings, const Room& disk, const std::string& new_id,
                            const csi::v1::CreateVolumeRequest& request);
void end_create(State& state, const std::string& id);
// Nothing: there is no such volume, and that is well.
Result<std::optional<Volume>> begin_delete(State& state, const Settings& settings, const std::string& id);
void end_delete(State& state, const std::string& id);

// The key of the publish context under which a node must bring what attach() answers.
inline constexpr std::string_view kAttachment = "attachment";
Result<std::string> attach(State& state, const csi::v1::ControllerPublishVolumeRequest& request);
Status detach(State& state, const csi::v1::ControllerUnpublishVolumeRequest& request);

Result<csi::v1::ValidateVolumeCapabilitiesResponse> validate(const State& state,
                                                             const csi::v1::ValidateVolumeCapabilitiesRequest& request);

// Says what is wrong with a volume; empty when nothing is.
using Complaint = std::function<std::string(const Volume&)>;
Result<csi::v1::ListVolumesResponse> list_volumes(const State& state, const csi::v1::ListVolumesRequest& request,
                                                  const Complaint& complaint);
Result<csi::v1::ControllerGetVolumeResponse> get_volume(const State& state, const std::string& id,
                                                        const Complaint& complaint);
csi::v1::Volume described(const Volume& volume);

// The volume as it is to be. The caller enlarges the file, then the ledger's row.
Result<Volume> expanded(const State& state, const Settings& settings, const Room& disk,
                        const csi::v1::ControllerExpandVolumeRequest& request);
void set_capacity(State& state, const std::string& id, int64_t capacity);
bool is_in_use(const State& state, const std::string& id);

}  // namespace drover::hostpath
