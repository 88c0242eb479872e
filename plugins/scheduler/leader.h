// This plugin's work while this server leads: follows the tables, runs the workers and the plan applier, and writes
// down what no worker will.
//
//   tables ──change feed──▶ EvalQueue ──▶ workers ──plans──▶ PlanApplier ──▶ log ──▶ tables
//      │                        ▲            ▲                  │      │ answer
//      │                        └── again, done ────────────────│──────┘
//      └────change feed──▶ SharedColumns ◀──plans in flight─────┘
//
// [lead]; starts threads of its own and joins them before it returns.
#pragma once

#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "columns.h"
#include "counts/job_gauges.h"
#include "drover/plugin.h"
#include "drover/scheduler.h"
#include "eval_queue.h"
#include "plans/exact_runs.h"
#include "rejections.h"
#include "tables.h"
#include "workers/workers.h"

namespace drover::scheduler {

struct LeaderOptions {
  std::shared_ptr<Workers> workers = std::make_shared<Workers>();
  v1::SchedulerConfiguration initial = {};  // of a cluster that has none
  RejectionOptions rejections = {};
};

// The scheduler of jobs of that type; null where this server has none or does not use it. `types`: as in Workers::Settings.
const Scheduler* scheduler_of(const Host& host, const std::set<std::string>& types, const std::string& type);

// The value of enabled_schedulers. Errors: invalid_argument for a type of job that no loaded plugin schedules.
Result<std::set<std::string>> enabled_types(const Host& host, const std::vector<std::string>& types);

class Leader {
 public:
  Leader(Host& host, const Tables& tables, SharedColumns& columns, ExactRuns& exact_runs, LeaderOptions options);

  // Returns when `stop` was requested and nothing of it runs any more.
  void run(std::stop_token stop);

  // The parts of it, for whoever takes the steps one by one in one thread. What is there when leadership begins, then
  // each change; and what is due of that which no worker does, or comes before `until`.
  void restore(const ReadView& view);
  void take(const Change& change, uint64_t index);
  void do_due_chores(SteadyTime until, std::stop_token stop);
  EvalQueue& evals() { return evals_; }

 private:
  void follow(std::stop_token stop);
  std::vector<TableId> followed() const;
  void restore_gains(const ReadView& view);
  void take_node(const Change& change, uint64_t index);
  void take_ended(const v1::Allocation& alloc, uint64_t index);
  void do_chores(std::stop_token stop);
  void write_down(const EvalQueue::Chores& chores);
  void propose(std::vector<v1::Evaluation> evals);
  std::string class_of(const std::string& node_id);

  Host& host_;
  const Tables& tables_;
  SharedColumns& columns_;
  ExactRuns& exact_runs_;
  const LeaderOptions options_;
  EvalQueue evals_;
  JobGauges gauges_;
  SteadyTime next_retry_, next_prune_;  // [evals]
};

}  // namespace drover::scheduler
