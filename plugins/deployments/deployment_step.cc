#include "deployment_step.h"

#include <algorithm>
#include <map>

#include "drover/model/allocation.h"

namespace drover::deployments {
namespace {

const v1::DeploymentState* group_of(const v1::Deployment& deployment, const v1::Allocation& alloc) {
  const auto at = deployment.task_groups().find(alloc.task_group());
  return at == deployment.task_groups().end() ? nullptr : &at->second;
}

bool awaits_promotion(const v1::DeploymentState& group) { return group.desired_canaries() > 0 && !group.promoted(); }

// A group that may not wait for progress has an unhealthy allocation. `reverts`: such a group wants its job back.
bool fails_at_once(const Situation& now, bool& reverts) {
  bool fails = false;
  for (const v1::Allocation& alloc : now.allocs) {
    const v1::DeploymentState* group = group_of(now.deployment, alloc);
    if (!group || group->progress_deadline() != 0 || !is_unhealthy(alloc)) continue;
    fails = true;
    reverts = reverts || group->auto_revert();
  }
  return fails;
}

// The healthy allocations of each group that are still there.
std::map<std::string, int32_t> healthy_of(const Situation& now) {
  std::map<std::string, int32_t> healthy;
  for (const v1::Allocation& alloc : now.allocs) {
    if (!terminal(alloc) && is_healthy(alloc)) ++healthy[alloc.task_group()];
  }
  return healthy;
}

// A group has fewer healthy allocations than it should by its deadline. Those that were healthy once and have ended are
// no progress, but for canaries: they wait for a person.
bool fails_by_deadline(const Situation& now, bool& reverts) {
  auto healthy = healthy_of(now);
  bool fails = false;
  for (const auto& [name, group] : now.deployment.task_groups()) {
    const bool is_missing = awaits_promotion(group) ? group.healthy_allocs() < group.desired_canaries()
                                                    : healthy[name] < group.desired_total();
    if (!is_missing) continue;
    fails = true;
    reverts = reverts || group.auto_revert();
  }
  return fails;
}

// The times by which groups that are not done must have made progress.
std::vector<int64_t> deadlines(const Situation& now) {
  auto healthy = healthy_of(now);
  std::vector<int64_t> times;
  for (const auto& [name, group] : now.deployment.task_groups()) {
    const bool is_done = !awaits_promotion(group) && healthy[name] >= group.desired_total();
    if (!is_done && group.require_progress_by() != 0) times.push_back(group.require_progress_by());
  }
  return times;
}

// Every group with canaries promotes them by itself, and all of them are placed and healthy.
bool promotes_itself(const Situation& now) {
  if (!requires_promotion(now.deployment)) return false;
  for (const auto& [name, group] : now.deployment.task_groups()) {
    if (group.desired_canaries() == 0) continue;
    const auto& canaries = group.placed_canaries();
    if (!group.auto_promote() || canaries.size() < group.desired_canaries()) return false;
    const auto healthy = std::ranges::count_if(now.allocs, [&](const v1::Allocation& alloc) {
      return is_healthy(alloc) && std::ranges::find(canaries, alloc.id()) != canaries.end();
    });
    if (healthy != canaries.size()) return false;
  }
  return true;
}

Revert failure(std::string_view why, bool reverts, const Situation& now) {
  if (reverts) return revert_for(why, now.deployment, now.versions);
  return {.description = std::string(why), .to = {}};
}

void look_at_allocations(const Situation& now, Step& step) {
  for (const v1::Allocation& alloc : now.allocs) {
    if (!group_of(now.deployment, alloc) || !alloc.deployment_status().has_healthy()) continue;
    if (is_unhealthy(alloc) && !server_terminal(alloc) && !alloc.desired_transition().reschedule()) {
      step.replace.push_back(alloc.id());
      step.evaluate = true;
    } else if (alloc.deployment_status().modify_index() > now.evaluated_index) {
      step.evaluate = true;
    }
  }
}

}  // namespace

Step deployment_step(const Situation& now, int64_t now_ns) {
  Step step;
  if (!is_active(now.deployment)) return step;
  bool reverts = false;
  if (fails_at_once(now, reverts)) {
    step.fail = failure(kFailedAllocations, reverts, now);
    return step;
  }
  bool is_late = false;
  for (const int64_t deadline : deadlines(now)) {
    if (deadline <= now_ns) {
      is_late = true;
    } else if (step.next == 0 || deadline < step.next) {
      step.next = deadline;
    }
  }
  if (is_late && fails_by_deadline(now, reverts)) {
    step.fail = failure(kFailedDeadline, reverts, now);
    step.next = 0;
    return step;
  }
  step.promote = promotes_itself(now);
  look_at_allocations(now, step);
  return step;
}

}  // namespace drover::deployments
