#include "plans/exact_plan.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/trial.pb.h"
#include "placing/hash.h"

namespace drover::scheduler {
namespace {

auto key_of(const v1::PlannedChange& change) {
  return std::tie(change.group(), change.name(), change.action(), change.node_id());
}
bool in_order(const v1::PlannedChange& one, const v1::PlannedChange& other) { return key_of(one) < key_of(other); }

std::string action_of(const v1::AllocationDelta& delta) {
  if (delta.desired_status() == v1::DESIRED_STATUS_EVICT) return "evict";
  if (delta.desired_status() == v1::DESIRED_STATUS_STOP) return "stop";
  return delta.has_job_version() ? "update" : "mark";
}

std::string sentence(const v1::PlannedChange& change) {
  const std::string node = change.node_name().empty() ? "" : " on " + change.node_name();
  return change.action() + " " + change.name() + node;
}

std::vector<v1::PlannedChange> sorted(std::span<const v1::PlannedChange> changes) {
  std::vector<v1::PlannedChange> sorted(changes.begin(), changes.end());
  std::sort(sorted.begin(), sorted.end(), in_order);
  return sorted;
}

}  // namespace

std::function<std::string()> ids_after(std::string eval_id) {
  return [eval_id = std::move(eval_id), count = uint64_t{0}]() mutable {
    const uint64_t seed = stable_hash(eval_id, ++count);
    std::string bytes;
    for (const uint64_t half : {stable_hash("first", seed), stable_hash("second", seed)}) {
      for (unsigned shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(half >> shift);
    }
    bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x40);  // a random UUID, as all others
    bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
    return bytes;
  };
}

std::vector<v1::PlannedChange> planned_changes(const Decision& decision, std::span<const v1::Allocation> allocs,
                                               const Cluster& cluster) {
  std::unordered_map<std::string_view, const v1::Allocation*> own;
  for (const v1::Allocation& alloc : allocs) own.emplace(alloc.id(), &alloc);
  std::vector<v1::PlannedChange> changes;
  const auto add = [&](const std::string& group, const std::string& name, std::string action, const std::string& node) {
    v1::PlannedChange& change = changes.emplace_back();
    change.set_group(group);
    change.set_name(name);
    change.set_action(std::move(action));
    change.set_node_id(node);
    if (const v1::Node* row = cluster.find(node)) change.set_node_name(row->name());
  };
  for (const v1::Allocation& alloc : decision.plan.placed)
    add(alloc.task_group(), alloc.name(), "place", alloc.node_id());
  for (const auto& [node, deltas] : decision.plan.changed) {
    for (const v1::AllocationDelta& delta : deltas) {
      const auto at = own.find(delta.id());
      if (at != own.end()) {
        add(at->second->task_group(), at->second->name(), action_of(delta), node);
      } else {
        add("", "allocation " + Uuid::from_bytes(delta.id()).to_string(), action_of(delta), node);
      }
    }
  }
  std::sort(changes.begin(), changes.end(), in_order);
  return changes;
}

std::vector<std::string> differences(std::span<const v1::PlannedChange> planned,
                                     std::span<const v1::PlannedChange> now) {
  const auto before = sorted(planned), after = sorted(now);
  std::vector<v1::PlannedChange> gone, fresh;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(), std::back_inserter(gone), in_order);
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(), std::back_inserter(fresh), in_order);
  std::vector<std::string> texts;
  for (const v1::PlannedChange& change : gone) texts.push_back("no longer: " + sentence(change));
  for (const v1::PlannedChange& change : fresh) texts.push_back("instead: " + sentence(change));
  return texts;
}

}  // namespace drover::scheduler
