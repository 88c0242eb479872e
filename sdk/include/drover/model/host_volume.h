// The rules of dynamic host volumes: for servers that keep them, and for schedulers that place allocations on them.
// Pure. [any]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drover::v1 {
class DynamicHostVolume;
class HostVolume;
class Node;
class TaskGroup;
class VolumeRequest;
}  // namespace drover::v1

namespace drover {

enum class HostVolumeState : uint8_t {
  pending,      // its node makes it, or has not said yet that it offers it
  ready,        // its node offers it
  unavailable,  // its node does not, or does not live
  deleted,      // its node is deleting it
};

// `node`: the volume's; null when it is gone.
HostVolumeState host_volume_state(const v1::DynamicHostVolume& volume, const v1::Node* node);
std::string_view host_volume_state_text(HostVolumeState state);

// The node's folder of that name when it is this volume; null: it is another one, or none.
const v1::HostVolume* offered_host_volume(const v1::DynamicHostVolume& volume, const v1::Node& node);

// The answer to who wants to use a volume, those who use it already aside.
enum class HostVolumeFit : uint8_t {
  fits,
  wrong_capability,  // the volume was never meant to be used so
  read_only,         // the mode lets nobody write
  writes_only,       // the mode is for those who write
};
HostVolumeFit host_volume_fit(const v1::DynamicHostVolume& volume, const v1::VolumeRequest& request);

// True when nobody else may write to the volume while an allocation uses it so.
bool is_sole_writer(const v1::VolumeRequest& request);

// The use that the allocation of that name makes of the host volume `volume_name`. `is_sole`: as is_sole_writer().
struct HostVolumeUse {
  bool writes = false;
  bool is_sole = false;
};
// Nothing: the group's allocation does not use it.
std::optional<HostVolumeUse> host_volume_use(const v1::TaskGroup& group, std::string_view alloc_name,
                                             std::string_view volume_name);

// Words that are checked where volumes and jobs are. An attachment mode is one of csi_volume.h.
bool is_host_access_mode(std::string_view word);

}  // namespace drover
