// The tables of dynamic host volumes and of sticky claims, and what the log's commands do to them. Deterministic.
// [apply]
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::v1 {
class Allocation;
class DynamicHostVolume;
class HostVolumeClaim;
class Node;
}  // namespace drover::v1

namespace drover::host_volumes {

// On an agent that is no server the others are not there, and nobody asks.
struct Tables {
  Table<v1::DynamicHostVolume> volumes;
  Table<v1::HostVolumeClaim> claims;
  std::optional<TableId> nodes = {}, jobs = {}, job_versions = {}, allocs = {}, namespaces = {}, node_pools = {};
};

inline constexpr std::string_view kUnknownVolume = "volume not found";
inline constexpr auto kProposeTime = std::chrono::seconds(10);  // until an entry of the log is given up

std::optional<v1::Node> node_of(const ReadView& view, const Tables& tables, const std::string& id);
// The allocations that use it and have not ended: a folder is let go only by the node's word.
std::vector<v1::Allocation> users_of(const ReadView& view, const Tables& tables, const v1::DynamicHostVolume& volume);
// Errors: failed_precondition, naming the allocations that use it. `what`: "cannot update a volume".
Status unused(const ReadView& view, const Tables& tables, const v1::DynamicHostVolume& volume, std::string_view what);

// Requires: `tables` outlives the declarations and what they declare.
Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::host_volumes
