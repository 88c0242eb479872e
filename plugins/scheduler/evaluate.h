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
  std::map<std::string, v1::DesiredUpdates>
      desired;  // by group; groups that are gone only while something of them is left

  bool blocked() const { return !failed.empty(); }
};

Decision evaluate(EvaluateInput input);

// The evaluation that waits for the room that `eval` did not find.
v1::Evaluation waiting_for_room(const v1::Evaluation& eval, const Decision& decision, uint64_t snapshot_index,
                                std::string id);
// What a blocked evaluation says about where room would help.
void describe_wait(const Decision& decision, uint64_t snapshot_index, v1::Evaluation& blocked);
// A blocked evaluation that goes on where `eval` ended.
v1::Evaluation blocked_after(const v1::Evaluation& eval, std::string id, std::string trigger, std::string description);

}  // namespace drover::scheduler
