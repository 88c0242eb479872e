// A scheduler as another plugin may bring one, by the SDK alone: one allocation of each group on every node that suits.
#pragma once

#include <string>

#include "drover/scheduler.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/trial.pb.h"

namespace drover::scheduler::testing {

class EverywhereScheduler final : public Scheduler {
 public:
  Decision decide(const Input& input, Board& board) const override {
    Decision decision;
    if (!input.job) return decision;
    for (const v1::TaskGroup& group : input.job->task_groups()) {
      const auto placer = board.open(*input.job, group);
      board.visit_nodes([&](const v1::Node& node) {
        if (board.suits(node, *input.job, group, "")) place(input, group, node, *placer, decision);
      });
    }
    return decision;
  }
  int attempts() const override { return 1; }
  bool waits_after_conflicts() const override { return false; }

 private:
  static bool is_there(const Input& input, const v1::TaskGroup& group, const v1::Node& node) {
    for (const v1::Allocation& alloc : input.allocs) {
      if (alloc.node_id() == node.id() && alloc.task_group() == group.name()) return true;
    }
    return false;
  }

  static void place(const Input& input, const v1::TaskGroup& group, const v1::Node& node, GroupPlacer& placer,
                    Decision& decision) {
    v1::DesiredUpdates& desired = decision.desired[group.name()];
    if (is_there(input, group, node)) return desired.set_ignore(desired.ignore() + 1);
    desired.set_place(desired.place() + 1);
    v1::Allocation alloc;
    alloc.set_id(input.new_id());
    if (!placer.place(alloc, {.only_node = node.id()})) {
      decision.failed[group.name()] = placer.failure();
      decision.waits.push_back({.node_id = node.id()});
      return;
    }
    alloc.set_namespace_(input.job->namespace_());
    alloc.set_eval_id(input.eval.id());
    alloc.set_name(input.job->id() + "." + group.name() + "[0]");
    alloc.set_job_id(input.job->id());
    alloc.set_task_group(group.name());
    alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
    alloc.set_client_status(v1::CLIENT_STATUS_PENDING);
    decision.plan.placed.push_back(std::move(alloc));
  }
};

}  // namespace drover::scheduler::testing
