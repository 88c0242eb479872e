#include "plan.h"

#include <map>
#include <span>

#include "drover/model/allocation.h"
#include "placing/feasibility.h"

namespace drover::scheduler {
namespace {

struct OnNode {
  std::vector<const v1::Allocation*> placed;
  std::span<const v1::AllocationDelta> changed;
};

bool ends(const v1::AllocationDelta& delta) {
  return delta.desired_status() == v1::DESIRED_STATUS_STOP || delta.desired_status() == v1::DESIRED_STATUS_EVICT ||
         client_terminal(delta.client_status());
}

bool fits(const OnNode& work, PlanState::At& at, PlanState& state) {
  if (!accepts_work(at.node)) return false;
  NodeRoom room = at.room;
  for (const v1::AllocationDelta& delta : work.changed) {
    if (!ends(delta)) continue;
    if (auto held = state.held(delta.id())) room.remove(*held);
  }
  for (const v1::Allocation* alloc : work.placed) {
    if (!has_devices(at.node, alloc->allocated_resources())) return false;
    room.add(alloc->allocated_resources());
  }
  return !room.overcommitted();
}

void take(const OnNode& work, PlanState::At* at, PlanState& state) {
  for (const v1::AllocationDelta& delta : work.changed) {
    if (!ends(delta)) continue;
    if (auto held = state.held(delta.id()); held && at) at->room.remove(*held);
    state.ended(delta.id());
  }
  for (const v1::Allocation* alloc : work.placed) at->room.add(alloc->allocated_resources());
}

}  // namespace

PlanState::At* PlanState::find(const std::string& node_id) {
  auto known = nodes_.find(node_id);
  if (known == nodes_.end()) {
    known = nodes_.emplace(node_id, std::nullopt).first;
    if (auto node = source_.node(node_id)) {
      NodeRoom room(*node);
      for (const v1::Allocation& alloc : source_.allocs(node_id)) {
        if (!terminal(alloc)) room.add(alloc.allocated_resources());
      }
      known->second = At{*std::move(node), std::move(room)};
    }
  }
  return known->second ? &*known->second : nullptr;
}

std::optional<v1::AllocatedResources> PlanState::held(const std::string& alloc_id) const {
  if (ended_.contains(alloc_id)) return std::nullopt;
  auto alloc = source_.alloc(alloc_id);
  if (!alloc || terminal(*alloc)) return std::nullopt;
  return alloc->allocated_resources();
}

CheckedPlan check_plan(Plan plan, PlanState& state) {
  std::map<std::string, OnNode> work;
  for (const v1::Allocation& alloc : plan.placed) work[alloc.node_id()].placed.push_back(&alloc);
  for (const auto& [node_id, deltas] : plan.changed) work[node_id].changed = deltas;

  CheckedPlan checked;
  for (const auto& [node_id, on_node] : work) {
    if (on_node.placed.empty()) continue;  // stopping is always possible
    PlanState::At* at = state.find(node_id);
    if (!at || !fits(on_node, *at, state)) checked.refused_nodes.push_back(node_id);
  }
  if (plan.all_at_once && !checked.full()) return checked;
  const std::set<std::string> refused(checked.refused_nodes.begin(), checked.refused_nodes.end());
  for (const auto& [node_id, on_node] : work) {
    if (!refused.contains(node_id)) take(on_node, state.find(node_id), state);
  }
  std::erase_if(plan.placed, [&](const v1::Allocation& alloc) { return refused.contains(alloc.node_id()); });
  std::erase_if(plan.changed, [&](const auto& changed) { return refused.contains(changed.first); });
  checked.plan = std::move(plan);
  return checked;
}

}  // namespace drover::scheduler
