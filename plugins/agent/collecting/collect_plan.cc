#include "collecting/collect_plan.h"

#include <algorithm>

namespace drover::agent {
namespace {

std::vector<Uuid> oldest(const CollectState& state, size_t most) {
  std::set<Uuid> kept;
  std::vector<const CollectState::Allocation*> over;
  for (const auto& one : state.allocations) {
    if (one.inherits && !one.ended) kept.insert(*one.inherits);
  }
  for (const auto& one : state.allocations) {
    if (one.ended && !kept.contains(one.id)) over.push_back(&one);
  }
  std::ranges::sort(over, {}, [](const auto* one) { return std::pair(*one->ended, one->id); });
  std::vector<Uuid> ids;
  for (size_t i = 0; i < over.size() && i < most; ++i) ids.push_back(over[i]->id);
  return ids;
}

size_t surplus(const CollectLimits& limits, const CollectState& state) {
  const size_t count = state.allocations.size();
  return count > limits.allocations ? count - limits.allocations : 0;
}

std::string of_count(const CollectLimits& limits, const CollectState& state) {
  return std::to_string(state.allocations.size()) + " allocations are more than gc_max_allocs, " +
         std::to_string(limits.allocations);
}

}  // namespace

CollectPlan plan_collection(const CollectLimits& limits, const CollectState& state) {
  if (state.disk_percent >= limits.disk_percent)
    return {"the disk is as full as gc_disk_usage_threshold", oldest(state, limits.at_once)};
  if (state.inodes_percent >= limits.inodes_percent)
    return {"as many inodes are used as gc_inode_usage_threshold", oldest(state, limits.at_once)};
  const size_t many = surplus(limits, state);
  if (many > 0) return {of_count(limits, state), oldest(state, std::min(limits.at_once, many))};
  return {};
}

CollectPlan plan_room(const CollectLimits& limits, const CollectState& state) {
  const size_t many = surplus(limits, state);
  if (many > 0) return {of_count(limits, state), oldest(state, std::min(limits.at_once, many))};
  if (state.needed_mb > state.free_mb)
    return {"new allocations need more room than there is", oldest(state, limits.at_once)};
  return {};
}

}  // namespace drover::agent
