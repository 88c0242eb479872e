// Runs a job exactly as a trial of it said, or not at all: decides again, compares, and has job and plan put into the
// log as one entry. The decision that is done is always the scheduler's own.
//
// Open while this server leads.
#pragma once

#include <stop_token>

#include "columns.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "eval_queue.h"
#include "plan_applier.h"
#include "tables.h"

namespace drover::v1 {
class ExactRunRequest;
class ExactRunResponse;
}  // namespace drover::v1

namespace drover::scheduler {

class ExactRuns {
 public:
  // [leader] Requires: both outlive close().
  void open(EvalQueue& evals, PlanApplier& plans);
  // Returns when no call uses them any more. Requires: every plan that was handed over is answered.
  void close();

  // Waits until the entry is applied. [a thread that may wait] Errors: as Trials.Apply.
  Result<v1::ExactRunResponse> run(Host& host, const Tables& tables, SharedColumns& columns, const Scheduler& scheduler,
                                   const v1::ExactRunRequest& request, SteadyTime deadline, std::stop_token stop);

 private:
  // Keeps close() waiting.
  class Visit;

  Mutex mutex_;
  CondVarAny left_;
  EvalQueue* evals_ DROVER_GUARDED_BY(mutex_) = nullptr;  // null: closed
  PlanApplier* plans_ DROVER_GUARDED_BY(mutex_) = nullptr;
  size_t inside_ DROVER_GUARDED_BY(mutex_) = 0;
};

}  // namespace drover::scheduler
