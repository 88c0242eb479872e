#include "reconcile.h"

#include <utility>

#include "descriptions.h"
#include "drover/model/allocation.h"
#include "drover/model/deployment.h"
#include "drover/model/job.h"
#include "group_reconciler.h"

namespace drover::scheduler {
namespace {

void stop_all(const ReconcileInput& input, const Allocs& allocs, GroupPlan& plan) {
  for (Alloc alloc : allocs) {
    if (terminal(*alloc)) continue;
    const v1::NodeStatus node = input.node_status(alloc->node_id());
    if (node == v1::NODE_STATUS_UNSPECIFIED || node == v1::NODE_STATUS_DOWN ||
        (node == v1::NODE_STATUS_DISCONNECTED && alloc->client_status() != v1::CLIENT_STATUS_UNKNOWN)) {
      plan.stops.push_back({alloc->id(), kLost, v1::CLIENT_STATUS_LOST});
    } else {
      plan.stops.push_back({alloc->id(), kNotNeeded});
    }
    plan.desired.set_stop(plan.desired.stop() + 1);
  }
}

// Stopped ones whose node went down before it could say that they ended.
void lose_stopped(const ReconcileInput& input, const Allocs& allocs, GroupPlan& plan) {
  for (Alloc alloc : allocs) {
    if (!server_terminal(*alloc) || client_terminal(*alloc)) continue;
    const v1::NodeStatus node = input.node_status(alloc->node_id());
    if (node == v1::NODE_STATUS_UNSPECIFIED || node == v1::NODE_STATUS_DOWN) {
      plan.stops.push_back({alloc->id(), kLost, v1::CLIENT_STATUS_LOST});
    }
  }
}

// What becomes of the deployment that is there: one of another version ends, one that is over is history.
Rollout rollout_of(const ReconcileInput& input, bool wanted, Reconciled& result) {
  Rollout rollout;
  const v1::Deployment* newest = input.deployment;
  if (!newest) return rollout;
  const auto cancel = [&](const char* why) {
    rollout.old = newest;
    if (!is_active(*newest)) return;
    result.deployment_status = v1::DEPLOYMENT_STATUS_CANCELLED;
    result.deployment_description = why;
  };
  if (!wanted) {
    cancel(kDeploymentJobStopped);
  } else if (newest->job_create_index() != input.job->create_index() || newest->job_version() != input.job->version()) {
    cancel(kDeploymentNewerJob);
  } else if (newest->status() == v1::DEPLOYMENT_STATUS_SUCCESSFUL) {
    rollout.old = newest;
  } else {
    rollout.current = newest;
  }
  return rollout;
}

void describe_created(v1::Deployment& created) {
  bool needs_promotion = false, promotes_itself = true;
  for (const auto& [name, state] : created.task_groups()) {
    if (state.desired_canaries() == 0) continue;
    needs_promotion = true;
    promotes_itself = promotes_itself && state.auto_promote();
  }
  if (needs_promotion) {
    created.set_status_description(promotes_itself ? kDeploymentPromotesItself : kDeploymentNeedsPromotion);
  }
}

}  // namespace

Reconciled reconcile(const ReconcileInput& input) {
  std::map<std::string, Allocs> by_group;
  for (const v1::Allocation& alloc : input.allocs) by_group[alloc.task_group()].push_back(&alloc);
  const bool wanted = input.job && !input.job->stop();
  if (wanted) {
    for (const v1::TaskGroup& group : input.job->task_groups()) by_group[group.name()];
  }
  Reconciled result;
  Rollout rollout = rollout_of(input, wanted, result);
  bool complete = true;
  for (const auto& [name, allocs] : by_group) {
    GroupPlan& plan = result.groups[name];
    lose_stopped(input, allocs, plan);
    const v1::TaskGroup* group = wanted ? find_group(*input.job, name) : nullptr;
    if (group) {
      complete = reconcile_group(input, *group, rollout, allocs, plan) && complete;
    } else {
      stop_all(input, allocs, plan);
    }
  }
  if (rollout.current && is_active(*rollout.current) && complete) {
    result.deployment_status = v1::DEPLOYMENT_STATUS_SUCCESSFUL;
    result.deployment_description = kDeploymentSuccessful;
  }
  if (rollout.is_created) {
    describe_created(rollout.created);
    result.deployment = std::move(rollout.created);
  }
  return result;
}

}  // namespace drover::scheduler
