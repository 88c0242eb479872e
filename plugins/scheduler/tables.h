// The tables of this plugin and what its log commands do to them. Deterministic. [apply]
#pragma once

#include <string>

#include "drover/plugin.h"
#include "drover/tables.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job_counts.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

struct Tables {
  Table<v1::Evaluation> evals;
  Table<v1::Allocation> allocs;
  Table<v1::JobCounts> counts;
  TableId jobs;          // of the plugin jobs
  TableId job_versions;  // of the plugin jobs
  TableId nodes;         // of the plugin nodes
};

// Ranges of the indexes of this plugin's tables.
KeyRange of_id(std::string_view id);  // of a node or evaluation
KeyRange with_status(v1::EvalStatus status);

// Somebody has yet to look at it, or it waits.
bool is_open(v1::EvalStatus status);
bool is_open(const v1::Evaluation& eval);

// "ready", "down", … as messages name it.
std::string_view status_text(v1::NodeStatus status);

Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::scheduler
