// The check of a plan against the newest state and the plans in flight, before it is done. Pure.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "columns.h"
#include "drover/scheduler.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/evaluation.pb.h"

namespace drover::scheduler {

using Plan = Scheduler::Plan;

// A plan with what its new allocations take, so that the check reads no rows.
struct WeighedPlan {
  explicit WeighedPlan(Plan made);
  size_t allocations() const;  // that it concerns

  Plan plan;
  std::vector<std::shared_ptr<const Holding>> holdings;  // of plan.placed, in its order
};

// Placements of one plan, and about as many of the plans in one entry: a log entry has a bound, and the apply thread is
// done with this in some milliseconds.
inline constexpr size_t kMostPlacements = 2000;

// Leaves the first placements of a plan, and of its changes those that do not belong to others: what is replaced or
// evicted stays as it is until its successor is placed. False when nothing was left out. Plans that are all or nothing
// are left whole.
bool leave_first(Plan& plan, size_t most = kMostPlacements);

struct CheckedPlan {
  struct Refusal {
    std::string node_id;
    std::string reason;
  };
  Plan plan;  // what may be done
  std::vector<Refusal> refused;
  bool full() const { return refused.empty(); }
};

// Takes what is accepted into `columns`, as part of the entry. Changes on a node that cannot take its placements are
// dropped with them, and its canaries leave their deployment. An allocation that is to be evicted and has ended already
// is left out.
CheckedPlan check_plan(WeighedPlan plan, Columns& columns, InFlight::Entry entry);

}  // namespace drover::scheduler
