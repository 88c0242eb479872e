// One worker: takes evaluations from the queue, decides on a snapshot, has the plan applied, writes down the outcome.
//
// [worker], several threads while this server leads; each runs a Worker of its own.
#pragma once

#include <set>
#include <stop_token>
#include <string>

#include "columns.h"
#include "deciding/decide.h"
#include "drover/plugin.h"
#include "eval_queue.h"
#include "plan_applier.h"
#include "tables.h"

namespace drover::scheduler {

class Worker {
 public:
  // `types`: of the jobs whose evaluations it takes; empty: all.
  Worker(Host& host, const Tables& tables, SharedColumns& columns, EvalQueue& evals, PlanApplier& plans,
         std::set<std::string> types)
      : host_(host), tables_(tables), columns_(columns), evals_(evals), plans_(plans), types_(std::move(types)) {}

  void run(std::stop_token stop);

 private:
  // Ok when the outcome was written down; else the evaluation comes again.
  Status process(const Delivery& delivery, std::stop_token stop);
  // One decision, as often as the scheduler has attempts.
  Status schedule(const Scheduler& scheduler, const Delivery& delivery, std::stop_token stop);
  Status finish(v1::Evaluation eval, const Decision& decision, uint64_t snapshot_index);
  Status give_up(v1::Evaluation eval, const Scheduler& scheduler, uint64_t snapshot_index);
  Status write(const std::vector<v1::Evaluation>& evals);

  Host& host_;
  const Tables& tables_;
  SharedColumns& columns_;
  EvalQueue& evals_;
  PlanApplier& plans_;
  const std::set<std::string> types_;
};

}  // namespace drover::scheduler
