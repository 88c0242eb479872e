// Volumes, their claims and their snapshots as commands show them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drover::v1 {
class AllocationWithJob;
class CsiExternalVolume;
class CsiTopology;
class ExplainVolumeResponse;
class ListSnapshotsResponse;
class ListVolumesResponse;
class MountOptions;
class Node;
class Task;
class Volume;
class VolumeSnapshot;
}  // namespace drover::v1

namespace drover::cli {

// "1.5 GiB"; empty: nobody knows.
std::string bytes_text(int64_t bytes);
// "rack=7, zone=a"
std::string topology_text(const v1::CsiTopology& topology);

std::vector<std::vector<std::string>> volume_rows(const v1::ListVolumesResponse& volumes, bool with_namespace);
// Names and values of one.
std::vector<std::pair<std::string, std::string>> volume_pairs(const v1::Volume& volume);
// Its places, claims and allocations, each under its title.
std::string volume_sections(const v1::Volume& volume, bool verbose);
// Each claim: who holds it, at which step it is, and what frees it.
std::string claims_text(const v1::ExplainVolumeResponse& claims, bool verbose);
std::vector<std::string> external_row(const v1::CsiExternalVolume& volume);
extern const std::vector<std::string> kExternalColumns;

// Snapshots in the order in which the storage names them.
std::string snapshots_text(const std::vector<const v1::VolumeSnapshot*>& snapshots, bool verbose);

// The plugins of a node by name, those that are not healthy marked.
std::string controllers_of(const v1::Node& node);
std::string drivers_of(const v1::Node& node);

// A volume that a task of an allocation mounts.
struct MountedVolume {
  std::string id;  // that the allocation's number is part of, where each has its own
  std::string type;
  bool is_read_only = false;
};
std::vector<MountedVolume> volumes_of(const v1::AllocationWithJob& alloc, const std::string& task);
std::string mount_options_text(const v1::MountOptions& options);

}  // namespace drover::cli
