#include "plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "drover/model/allocation.h"
#include "drover/model/node.h"

namespace drover::scheduler {
namespace {

using Share = Columns::Share;

struct OnNode {
  std::vector<size_t> placed;  // positions in the plan
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

bool resizes(const v1::AllocationDelta& delta) { return !stops(delta) && delta.has_allocated_resources(); }

bool grows(const OnNode& work) { return std::ranges::any_of(work.changed, resizes); }

bool is_unknown_mark(const v1::AllocationDelta& delta) { return delta.client_status() == v1::CLIENT_STATUS_UNKNOWN; }

class Check {
 public:
  Check(const WeighedPlan& weighed, Columns& columns, InFlight::Entry entry)
      : weighed_(weighed), columns_(columns), entry_(entry) {}

  // Why the node cannot take its part; empty when it can.
  std::string problem_of(const std::string& node_id, const OnNode& work) const {
    const bool has_updates = std::ranges::any_of(work.changed, updates);
    if (work.placed.empty() && !has_updates && std::ranges::none_of(work.changed, is_unknown_mark)) return {};
    const v1::Node* node = columns_.cluster().find(node_id);
    if (!node) return "node does not exist";
    const bool is_down = node->status() == v1::NODE_STATUS_DOWN;
    if (is_down || node->status() == v1::NODE_STATUS_DISCONNECTED) {
      if (work.placed.empty() && !has_updates) return {};  // what is out of reach is marked so
      if (!is_down) return "node is disconnected and contains invalid updates";
    }
    if (node->status() != v1::NODE_STATUS_READY) return "node is not ready for placements";
    if (work.placed.empty()) {  // what is there already may change also where no new ones are wanted
      if (!grows(work)) return {};
      std::string problem = after(work, *columns_.room(node_id)).overcommitted();
      return problem.empty() || columns_.is_overcommitted(node_id) ? "" : problem;
    }
    if (!accepts_work(*node)) return "node is not eligible";
    if (!has_all_devices(work, *node)) return "device oversubscribed";
    return after(work, *columns_.room(node_id)).overcommitted();
  }

  void take(const std::string& node_id, const OnNode& work) {
    // Others get nothing of what is stopped before that is in the state; those of `replaced` this plan's own take.
    InFlight::Exchange replaced{.entry = entry_, .ended = {}, .taken = {}}, kept = replaced;
    Usage& taken = replaced.taken;
    for (const v1::AllocationDelta& delta : work.changed) {
      const Share share = columns_.share(delta.id());
      if (share.state == Share::State::none) continue;
      if (stops(delta)) {
        (share.state == Share::State::firm ? replaced : kept).ended.push_back(delta.id());
        columns_.end(entry_, delta.id());
      } else if (delta.has_allocated_resources()) {
        Usage usage = usage_of(delta.allocated_resources());
        if (share.usage) add(taken, beyond(usage, *share.usage));
        columns_.resize(entry_, delta.id(), std::move(usage));
      }
    }
    for (const size_t i : work.placed) {
      add(taken, weighed_.holdings[i]->usage);
      columns_.place(entry_, weighed_.plan.placed[i], weighed_.holdings[i]);
    }
    for (InFlight::Exchange* exchange : {&replaced, &kept}) {
      if (!exchange->ended.empty()) columns_.exchange(node_id, std::move(*exchange));
    }
  }

 private:
  // The room of the node as the plan would leave it.
  NodeRoom after(const OnNode& work, NodeRoom room) const {
    for (const v1::AllocationDelta& delta : work.changed) {
      if (!stops(delta) && !resizes(delta)) continue;
      const Share share = columns_.share(delta.id());
      if (share.state == Share::State::none) continue;
      // Nothing becomes free of one that is changing: it may have the room of another, which then is still there.
      if (share.state == Share::State::firm) room.remove(*share.usage);
      if (!resizes(delta)) continue;
      const Usage usage = usage_of(delta.allocated_resources());
      room.add(share.state == Share::State::changing ? beyond(usage, *share.usage) : usage);
    }
    for (const size_t i : work.placed) room.add(weighed_.holdings[i]->usage);
    return room;
  }

  bool has_all_devices(const OnNode& work, const v1::Node& node) const {
    return std::ranges::all_of(
        work.placed, [&](size_t i) { return has_devices(node, weighed_.plan.placed[i].allocated_resources()); });
  }

  const WeighedPlan& weighed_;
  Columns& columns_;
  const InFlight::Entry entry_;
};

// Canaries that find no place are not of their deployment. `dropped`: allocations.
void drop_canaries(Plan& plan, const std::set<std::string>& dropped) {
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
void drop_ended(Plan& plan, const Columns& columns) {
  for (auto& [node, deltas] : plan.changed) {
    std::erase_if(deltas, [&](const v1::AllocationDelta& delta) {
      return delta.desired_status() == v1::DESIRED_STATUS_EVICT && !columns.share(delta.id()).usage;
    });
  }
  std::erase_if(plan.changed, [](const auto& changed) { return changed.second.empty(); });
}

}  // namespace

WeighedPlan::WeighedPlan(Plan made) : plan(std::move(made)) {
  holdings.reserve(plan.placed.size());
  for (const v1::Allocation& alloc : plan.placed) holdings.push_back(holding_of(alloc));
}

size_t WeighedPlan::allocations() const {
  size_t count = plan.placed.size();
  for (const auto& [node, deltas] : plan.changed) count += deltas.size();
  return count;
}

bool leave_first(Plan& plan, size_t most) {
  if (plan.all_at_once || plan.placed.size() <= most) return false;
  std::set<std::string> left_out;  // and what would have made room for them
  for (size_t i = most; i < plan.placed.size(); ++i) {
    const v1::Allocation& alloc = plan.placed[i];
    left_out.insert(alloc.id());
    if (!alloc.previous_allocation().empty()) left_out.insert(alloc.previous_allocation());
    left_out.insert(alloc.preempted_allocations().begin(), alloc.preempted_allocations().end());
  }
  plan.placed.resize(most);
  for (auto& [node, deltas] : plan.changed) {
    std::erase_if(deltas, [&](const v1::AllocationDelta& delta) { return left_out.contains(delta.id()); });
  }
  std::erase_if(plan.changed, [](const auto& changed) { return changed.second.empty(); });
  drop_canaries(plan, left_out);
  return true;
}

CheckedPlan check_plan(WeighedPlan weighed, Columns& columns, InFlight::Entry entry) {
  Plan& plan = weighed.plan;
  drop_ended(plan, columns);
  std::map<std::string, OnNode> work;
  for (size_t i = 0; i < plan.placed.size(); ++i) work[plan.placed[i].node_id()].placed.push_back(i);
  for (const auto& [node_id, deltas] : plan.changed) work[node_id].changed = deltas;

  Check check(weighed, columns, entry);
  CheckedPlan checked;
  for (const auto& [node_id, on_node] : work) {
    const bool only_stops = on_node.placed.empty() && std::ranges::all_of(on_node.changed, stops);
    std::string problem = only_stops ? "" : check.problem_of(node_id, on_node);
    if (!problem.empty()) checked.refused.push_back({node_id, std::move(problem)});
  }
  if (plan.all_at_once && !checked.full()) return checked;
  std::set<std::string> refused;
  for (const CheckedPlan::Refusal& refusal : checked.refused) refused.insert(refusal.node_id);
  for (const auto& [node_id, on_node] : work) {
    if (!refused.contains(node_id)) check.take(node_id, on_node);
  }
  std::set<std::string> dropped;
  for (const v1::Allocation& alloc : plan.placed) {
    if (refused.contains(alloc.node_id())) dropped.insert(alloc.id());
  }
  drop_canaries(plan, dropped);
  std::erase_if(plan.placed, [&](const v1::Allocation& alloc) { return refused.contains(alloc.node_id()); });
  std::erase_if(plan.changed, [&](const auto& changed) { return refused.contains(changed.first); });
  checked.plan = std::move(plan);
  return checked;
}

}  // namespace drover::scheduler
