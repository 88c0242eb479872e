// Which jobs must be looked at again when a node changes. A function of a snapshot.
#pragma once

#include <vector>

#include "drover/tables.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::nodes {

// One evaluation, trigger node-update, for each job that has an allocation on the node which is not over yet.
std::vector<v1::Evaluation> node_evaluations(const ReadView& view, TableId allocs, TableId jobs, const v1::Node& node,
                                             int64_t now);

// Adds them to a command that has evaluations.
void add_node_evaluations(const ReadView& view, TableId allocs, TableId jobs, const v1::Node& node, int64_t now,
                          auto& command) {
  for (v1::Evaluation& eval : node_evaluations(view, allocs, jobs, node, now)) {
    *command.add_evaluations() = std::move(eval);
  }
}

// True when going from one status to the other matters to the scheduler.
bool concerns_scheduler(v1::NodeStatus from, v1::NodeStatus to);

}  // namespace drover::nodes
