// Where plans meet: one thread checks each against the newest state and puts what fits into the log, several plans in
// one entry when several wait.
//
// submit [worker]; run [applier], one thread while this server leads.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/mutex.h"
#include "drover/plugin.h"
#include "eval_queue.h"
#include "plan.h"
#include "rejections.h"
#include "tables.h"

namespace drover::scheduler {

class PlanApplier {
 public:
  PlanApplier(Host& host, const Tables& tables, EvalQueue& evals, RejectionOptions rejections = {})
      : host_(host), tables_(tables), evals_(evals), rejections_(rejections) {}

  struct Outcome {
    bool full = true;       // everything was done
    bool progress = false;  // something was
    uint64_t index = 0;     // a snapshot of this index shows why the rest was not
  };
  // Waits until the plan was dealt with. `delivery`: of the evaluation it was made for.
  // Errors: aborted when the delivery was taken back; what the log said; cancelled once stop was requested.
  Result<Outcome> submit(Plan plan, const Delivery& delivery, std::stop_token stop);

  void run(std::stop_token stop);

 private:
  struct Pending {
    Plan plan;
    std::string eval_id, token;
    int32_t priority;
    std::optional<Result<Outcome>> outcome;  // under the applier's mutex
  };
  using Batch = std::vector<std::shared_ptr<Pending>>;

  Batch take_batch(std::stop_token stop);
  void apply(const Batch& batch);
  void note_refused(const CheckedPlan& checked);
  void close(const std::string& node_id);
  void answer(Pending& pending, Result<Outcome> outcome);

  Host& host_;
  const Tables& tables_;
  EvalQueue& evals_;
  Rejections rejections_;  // [applier]
  Mutex mutex_;
  CondVarAny waiting_;
  CondVarAny answered_;
  std::vector<std::shared_ptr<Pending>> queue_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::scheduler
