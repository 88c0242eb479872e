// Dynamic host volumes, and the claims of sticky groups on them, as commands show them. Pure.
#pragma once

#include <string>
#include <vector>

namespace drover::v1 {
class DescribedHostVolume;
class HostVolumeStub;
class ListHostVolumeClaimsResponse;
}  // namespace drover::v1

namespace drover::cli {

// Sorted by identifier.
std::vector<std::vector<std::string>> host_volume_rows(std::vector<v1::HostVolumeStub> volumes, bool verbose);
// `is_short`: without capabilities and allocations.
std::string host_volume_text(const v1::DescribedHostVolume& volume, bool is_short, bool verbose);
std::string host_volume_claims_text(const v1::ListHostVolumeClaimsResponse& claims, bool verbose);

}  // namespace drover::cli
