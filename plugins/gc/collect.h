// Decides what may be forgotten: finished evaluations and allocations, deployments that are over, jobs that ended,
// nodes that are gone. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drover/tables.h"

namespace drover::gc {

struct Thresholds {
  std::chrono::nanoseconds evaluation = std::chrono::hours(1);
  std::chrono::nanoseconds batch_evaluation = std::chrono::hours(24);
  std::chrono::nanoseconds job = std::chrono::hours(4);
  std::chrono::nanoseconds node = std::chrono::hours(24);
  std::chrono::nanoseconds deployment = std::chrono::hours(1);

  static Thresholds now() {
    return {.evaluation = {}, .batch_evaluation = {}, .job = {}, .node = {}, .deployment = {}};
  }
};

struct Tables {
  TableId jobs, nodes, evals, allocs;
  std::optional<TableId> deployments = {};  // none where the plugin is not loaded
};

struct Garbage {
  std::vector<std::string> evals, allocs, nodes, deployments;  // identifiers
  std::vector<std::pair<std::string, std::string>> jobs;       // namespace, id
  bool empty() const { return evals.empty() && allocs.empty() && nodes.empty() && jobs.empty() && deployments.empty(); }
};

// An evaluation goes with its allocations when it is over and old, and each of them is over or not wanted any more,
// does not run, and awaits no rescheduling; a batch job's allocations stay while the job lives, so that it is not run
// again. A job goes when it is dead, stopped or batch, and nothing of it is left. A node goes when it is down for long
// and its allocations are over or not wanted any more. A deployment goes when it is over and old, and no
// allocation of it is wanted and runs.
Garbage collect(const ReadView& view, const Tables& tables, const Thresholds& thresholds, int64_t now_ns);

}  // namespace drover::gc
