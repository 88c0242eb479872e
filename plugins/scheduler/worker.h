// One worker: takes evaluations from the queue, decides on a snapshot, has the plan applied, writes down the outcome.
//
// [worker], several threads while this server leads; each runs a Worker of its own.
#pragma once

#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include "columns.h"
#include "drover/plugin.h"
#include "eval_queue.h"
#include "evaluate.h"
#include "plan_applier.h"
#include "tables.h"

namespace drover::scheduler {

// Whether this version has a scheduler for jobs of that type.
bool is_scheduled(std::string_view type);

class Worker {
 public:
  Worker(Host& host, const Tables& tables, SharedColumns& columns, EvalQueue& evals, PlanApplier& plans,
         std::set<std::string> types)
      : host_(host), tables_(tables), columns_(columns), evals_(evals), plans_(plans), types_(std::move(types)) {}

  void run(std::stop_token stop);

 private:
  // Ok when the outcome was written down; else the evaluation comes again.
  Status process(const Delivery& delivery, std::stop_token stop);
  Status finish(v1::Evaluation eval, const Decision& decision, uint64_t snapshot_index);
  Status give_up(v1::Evaluation eval, int attempts, uint64_t snapshot_index);
  Status write(std::initializer_list<v1::Evaluation> evals);

  Host& host_;
  const Tables& tables_;
  SharedColumns& columns_;
  EvalQueue& evals_;
  PlanApplier& plans_;
  const std::set<std::string> types_;
};

}  // namespace drover::scheduler
