// One worker: takes evaluations from the queue, decides on a snapshot, and hands the plan over with the evaluation's
// end. It waits for neither: the applier's answer closes the delivery or has it decided again.
//
// [worker], several threads while this server leads; each runs a Worker of its own.
#pragma once

#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

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

  // `is_busy` hears when an evaluation is worked on, and when no more.
  void run(std::stop_token stop, const std::function<void(bool)>& is_busy = [](bool) {});
  // What run() does with each delivery.
  void work_on(const Delivery& delivery, std::stop_token stop);

 private:
  // Ok when the delivery was answered, or its plan is in the applier's hands; else the evaluation comes again.
  Status process(const Delivery& delivery, std::stop_token stop);
  // One decision; the delivery says how many there were before.
  Status schedule(const Scheduler& scheduler, const Delivery& delivery, uint64_t term, std::stop_token stop);
  // `end`: empty when the plan is a part.
  void submit(const Delivery& delivery, Scheduler::Plan plan, std::vector<v1::Evaluation> end, uint64_t term);

  Host& host_;
  const Tables& tables_;
  SharedColumns& columns_;
  EvalQueue& evals_;
  PlanApplier& plans_;
  const std::set<std::string> types_;
};

}  // namespace drover::scheduler
