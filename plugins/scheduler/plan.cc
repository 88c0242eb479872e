#include "plan.h"

#include <algorithm>
#include <map>
#include <span>

#include "drover/model/allocation.h"
#include "drover/model/node.h"

namespace drover::scheduler {
namespace {

struct OnNode {
  std::vector<const v1::Allocation*> placed;
  std::span<const v1::AllocationDelta> changed;
};

bool stops(const v1::AllocationDelta& delta) {
  return delta.desired_status() == v1::DESIRED_STATUS_STOP || delta.desired_status() == v1::DESIRED_STATUS_EVICT ||
         client_terminal(delta.client_status());
}

// A change that a node must be able to bear: one that neither stops the allocation nor only marks it.
bool updates(const v1::AllocationDelta& delta) {
  return !stops(delta) && (delta.has_job_version() || delta.has_allocated_resources());
}

bool grows(const OnNode& work) {
  return std::ranges::any_of(
      work.changed, [](const v1::AllocationDelta& delta) { return !stops(delta) && delta.has_allocated_resources(); });
}

bool is_unknown_mark(const v1::AllocationDelta& delta) { return delta.client_status() == v1::CLIENT_STATUS_UNKNOWN; }

// The room of a node as the plan would leave it.
NodeRoom room_after(const OnNode& work, const PlanState::At& at, const PlanState& state) {
  NodeRoom room = at.room;
  for (const v1::AllocationDelta& delta : work.changed) {
    if (!stops(delta) && !delta.has_allocated_resources()) continue;
    const auto held = state.held(delta.id());
    if (!held) continue;
    room.remove(*held);
    if (!stops(delta)) room.add(usage_of(delta.allocated_resources()));
  }
  for (const v1::Allocation* alloc : work.placed) room.add(usage_of(alloc->allocated_resources()));
  return room;
}

bool has_all_devices(const OnNode& work, const v1::Node& node) {
  return std::ranges::all_of(
      work.placed, [&](const v1::Allocation* alloc) { return has_devices(node, alloc->allocated_resources()); });
}

// Why the node cannot take its part; empty when it can.
std::string problem_of(const OnNode& work, const PlanState::At* at, const PlanState& state) {
  const bool has_updates = std::ranges::any_of(work.changed, updates);
  if (work.placed.empty() && !has_updates && std::ranges::none_of(work.changed, is_unknown_mark)) return {};
  if (!at) return "node does not exist";
  if (at->node.status() == v1::NODE_STATUS_DISCONNECTED) {
    const bool only_marks = work.placed.empty() && !has_updates;
    return only_marks ? "" : "node is disconnected and contains invalid updates";
  }
  if (at->node.status() != v1::NODE_STATUS_READY) return "node is not ready for placements";
  if (work.placed.empty()) {  // what is there already may change also where no new ones are wanted
    return grows(work) && at->room.overcommitted().empty() ? room_after(work, *at, state).overcommitted() : "";
  }
  if (!accepts_work(at->node)) return "node is not eligible";
  if (!has_all_devices(work, at->node)) return "device oversubscribed";
  return room_after(work, *at, state).overcommitted();
}

void take(const OnNode& work, PlanState::At* at, PlanState& state) {
  if (at) at->room = room_after(work, *at, state);
  for (const v1::AllocationDelta& delta : work.changed) {
    if (stops(delta)) state.ended(delta.id());
  }
}

// Canaries that found no place are not of their deployment.
void drop_canaries(Plan& plan, const std::set<std::string>& refused) {
  std::set<std::string> dropped;
  for (const v1::Allocation& alloc : plan.placed) {
    if (refused.contains(alloc.node_id())) dropped.insert(alloc.id());
  }
  for (v1::Deployment& deployment : plan.deployments) {
    for (auto& [name, group] : *deployment.mutable_task_groups()) {
      auto& canaries = *group.mutable_placed_canaries();
      canaries.erase(
          std::remove_if(canaries.begin(), canaries.end(), [&](const std::string& id) { return dropped.contains(id); }),
          canaries.end());
    }
  }
}

// An allocation that was to make room has ended by itself.
void drop_ended(Plan& plan, const PlanState& state) {
  for (auto& [node, deltas] : plan.changed) {
    std::erase_if(deltas, [&](const v1::AllocationDelta& delta) {
      return delta.desired_status() == v1::DESIRED_STATUS_EVICT && !state.held(delta.id());
    });
  }
  std::erase_if(plan.changed, [](const auto& changed) { return changed.second.empty(); });
}

}  // namespace

PlanState::At* PlanState::find(const std::string& node_id) {
  auto known = nodes_.find(node_id);
  if (known == nodes_.end()) {
    known = nodes_.emplace(node_id, std::nullopt).first;
    if (auto node = source_.node(node_id)) {
      NodeRoom room(*node);
      for (const v1::Allocation& alloc : source_.allocs(node_id)) {
        if (!terminal(alloc)) room.add(usage_of(alloc.allocated_resources()));
      }
      known->second = At{*std::move(node), std::move(room)};
    }
  }
  return known->second ? &*known->second : nullptr;
}

std::optional<Usage> PlanState::held(const std::string& alloc_id) const {
  if (ended_.contains(alloc_id)) return std::nullopt;
  auto alloc = source_.alloc(alloc_id);
  if (!alloc || terminal(*alloc)) return std::nullopt;
  return usage_of(alloc->allocated_resources());
}

CheckedPlan check_plan(Plan plan, PlanState& state) {
  drop_ended(plan, state);
  std::map<std::string, OnNode> work;
  for (const v1::Allocation& alloc : plan.placed) work[alloc.node_id()].placed.push_back(&alloc);
  for (const auto& [node_id, deltas] : plan.changed) work[node_id].changed = deltas;

  CheckedPlan checked;
  for (const auto& [node_id, on_node] : work) {
    const bool only_stops = on_node.placed.empty() && std::ranges::all_of(on_node.changed, stops);
    std::string problem = only_stops ? "" : problem_of(on_node, state.find(node_id), state);
    if (!problem.empty()) checked.refused.push_back({node_id, std::move(problem)});
  }
  if (plan.all_at_once && !checked.full()) return checked;
  std::set<std::string> refused;
  for (const CheckedPlan::Refusal& refusal : checked.refused) refused.insert(refusal.node_id);
  for (const auto& [node_id, on_node] : work) {
    if (!refused.contains(node_id)) take(on_node, state.find(node_id), state);
  }
  drop_canaries(plan, refused);
  std::erase_if(plan.placed, [&](const v1::Allocation& alloc) { return refused.contains(alloc.node_id()); });
  std::erase_if(plan.changed, [&](const auto& changed) { return refused.contains(changed.first); });
  checked.plan = std::move(plan);
  return checked;
}

}  // namespace drover::scheduler
