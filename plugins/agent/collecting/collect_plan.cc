#include "collecting/collect_plan.h"

#include <algorithm>
#include <set>

namespace drover::agent {
namespace {

CollectNeed need_of_count(const CollectLimits& limits, const CollectState& state) {
  if (state.allocations <= limits.allocations) return {};
  return {std::to_string(state.allocations) + " allocations are more than gc_max_allocs, " +
              std::to_string(limits.allocations),
          std::min(limits.at_once, state.allocations - limits.allocations)};
}

}  // namespace

CollectNeed need_of_look(const CollectLimits& limits, const CollectState& state) {
  if (state.disk_percent >= limits.disk_percent)
    return {"the disk is as full as gc_disk_usage_threshold", limits.at_once};
  if (state.inodes_percent >= limits.inodes_percent)
    return {"as many inodes are used as gc_inode_usage_threshold", limits.at_once};
  return need_of_count(limits, state);
}

CollectNeed need_of_start(const CollectLimits& limits, const CollectState& state) {
  CollectNeed need = need_of_count(limits, state);
  if (need.reason.empty() && state.needed_mb > state.free_mb)
    need = {"new allocations need more room than there is", limits.at_once};
  return need;
}

std::vector<Uuid> first_to_go(const std::vector<Collectable>& allocations, size_t most) {
  std::set<Uuid> kept;
  std::vector<const Collectable*> over;
  for (const Collectable& one : allocations) {
    if (one.inherits && !one.ended) kept.insert(*one.inherits);
  }
  for (const Collectable& one : allocations) {
    if (one.ended && !kept.contains(one.id)) over.push_back(&one);
  }
  std::ranges::sort(over, {}, [](const auto* one) { return std::pair(*one->ended, one->id); });
  over.resize(std::min(over.size(), most));
  std::vector<Uuid> ids;
  for (const Collectable* one : over) ids.push_back(one->id);
  return ids;
}

}  // namespace drover::agent
