// The tables of this plugin and what its log commands do to them. Deterministic. [apply]
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "drover/plugin.h"
#include "drover/tables.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job_counts.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/scheduler_config.pb.h"

namespace drover::v1 {
class PassMetrics;
}  // namespace drover::v1

namespace drover::scheduler {

struct Tables {
  Table<v1::Evaluation> evals;
  Table<v1::Allocation> allocs;
  Table<v1::JobCounts> counts;
  Table<v1::SchedulerConfiguration> config;
  Table<v1::PassMetrics> metrics;           // of allocations
  TableId jobs;                             // of the plugin jobs
  TableId job_versions;                     // of the plugin jobs
  TableId nodes;                            // of the plugin nodes
  std::optional<TableId> deployments = {};  // of the plugin deployments, from start on; none where it is not loaded
  std::optional<TableId> node_pools = {};   // of the plugin node_pools, likewise
  std::optional<TableId> csi_volumes = {};  // of the plugin volumes, and its claims; none where it is not loaded
  std::optional<TableId> csi_claims = {};
  std::optional<TableId> host_volumes = {};  // of the plugin host_volumes, and its claims, likewise
  std::optional<TableId> host_volume_claims = {};
};

// Why evaluations are not deleted.
inline constexpr std::string_view kBrokerRuns = "eval broker is enabled; eval broker must be paused to delete evals";

// The operator has stopped the handing out of evaluations.
bool is_paused(const Tables& tables, const ReadView& view);

// Puts the metric of its placement into an allocation whose row has none.
void join_metric(const Tables& tables, const ReadView& view, v1::Allocation& alloc);

// The evaluations of that status in kEvalsByStatus.
KeyRange with_status(v1::EvalStatus status);

// "ready", "down", … as messages name it.
std::string_view status_text(v1::NodeStatus status);

Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::scheduler
