#include "disk/disk_plan.h"

#include <algorithm>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"

namespace drover::agent {
namespace {

constexpr uint64_t kMegabyte = 1 << 20, kSlack = 64 * kMegabyte;

}  // namespace

DiskPlan plan_disk(const AllocSpec& spec, const std::function<bool(const Uuid&)>& is_here) {
  const v1::Allocation& allocation = *spec.allocation;
  DiskPlan plan;
  for (const std::string& id : allocation.preempted_allocations()) {
    if (id.size() == 16 && is_here(Uuid::from_bytes(id))) plan.awaited.push_back(Uuid::from_bytes(id));
  }
  if (allocation.previous_allocation().size() != 16) return plan;
  const Uuid previous = Uuid::from_bytes(allocation.previous_allocation());
  const bool is_neighbour = is_here(previous);
  if (is_neighbour) plan.awaited.push_back(previous);
  if (!spec.group) return plan;
  const v1::EphemeralDisk& disk = spec.group->ephemeral_disk();
  if (is_neighbour && (disk.sticky() || disk.migrate())) plan.from = DiskPlan::From::neighbour;
  if (!is_neighbour && disk.migrate()) plan.from = DiskPlan::From::other_node;
  if (plan.from != DiskPlan::From::nothing) plan.previous = previous;
  return plan;
}

uint64_t most_migrated_bytes(const AllocSpec& spec) {
  const int64_t size = spec.group ? spec.group->ephemeral_disk().size_mb() : 0;
  return 2 * static_cast<uint64_t>(std::max<int64_t>(size, 0)) * kMegabyte + kSlack;
}

}  // namespace drover::agent
