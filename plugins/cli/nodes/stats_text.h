// The use of a machine and of its allocations, as people read it. Pure.
#pragma once

#include <string>

namespace drover::v1 {
class AllocatedTaskResources;
class AllocationStatsResponse;
class HostStats;
class NodeResources;
class ResourceUsage;
}  // namespace drover::v1

namespace drover::cli {

// The sum over allocations.
struct AllocsUse {
  double cpu_mhz = 0;
  uint64_t memory_bytes = 0;

  void add(const v1::AllocationStatsResponse& stats);
};

// Shares of the node's own.
std::string allocs_use_text(const AllocsUse& use, const v1::NodeResources& resources);
std::string host_use_text(const v1::HostStats& stats, const v1::NodeResources& resources);
// "3/100 MHz" and "12.0 MiB/300.0 MiB" of a task; without a use the task's own alone.
std::string task_cpu_text(const v1::ResourceUsage* use, const v1::AllocatedTaskResources& given);
std::string task_memory_text(const v1::ResourceUsage* use, const v1::AllocatedTaskResources& given);
// All that was measured of a task, below headings.
std::string task_use_text(const v1::ResourceUsage& use);
// Each processor, the memory, each disk and each device, below headings.
std::string host_detail_text(const v1::HostStats& stats);

}  // namespace drover::cli
