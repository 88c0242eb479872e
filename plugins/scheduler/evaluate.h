// One evaluation from snapshot to plan: reconcile, then place. Pure: identifiers come from the caller.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "place.h"
#include "plan.h"
#include "reconcile.h"

namespace drover::scheduler {

struct EvaluateInput {
  v1::Evaluation eval;
  ReconcileInput state;  // without node_status and may_stay, which come from the cluster
  Cluster cluster;       // with every allocation that takes room
  std::function<std::string()> new_id;
};

struct Decision {
  Plan plan;
  std::map<std::string, int32_t> queued;          // by group: allocations that found no place
  std::map<std::string, v1::AllocMetric> failed;  // by group: why
  std::map<std::string, bool> class_eligibility;  // of the groups that failed
  bool escaped = false;

  bool blocked() const { return !failed.empty(); }
};

Decision evaluate(EvaluateInput input);

}  // namespace drover::scheduler
