// One group of a job: what becomes of its allocations, and what must be added. Pure.
#pragma once

#include "disconnects.h"
#include "reconcile.h"

namespace drover::scheduler {

// The job's deployment as all its groups see it.
struct Rollout {
  const v1::Deployment* current = nullptr;  // of this version, and not successful
  const v1::Deployment* old = nullptr;      // of an earlier version, or over
  v1::Deployment created;                   // with the groups that need one
  bool is_created = false;

  bool paused() const {
    return current &&
           (current->status() == v1::DEPLOYMENT_STATUS_PAUSED || current->status() == v1::DEPLOYMENT_STATUS_PENDING ||
            current->status() == v1::DEPLOYMENT_STATUS_INITIALIZING);
  }
  bool failed() const { return current && current->status() == v1::DEPLOYMENT_STATUS_FAILED; }
};

// Fills the plan from all allocations of the group; takes part in the rollout. Returns true when nothing is left to do
// for the deployment. Requires: the job wants the group.
bool reconcile_group(const ReconcileInput& input, const v1::TaskGroup& group, Rollout& rollout, Allocs allocs,
                     GroupPlan& plan);

}  // namespace drover::scheduler
