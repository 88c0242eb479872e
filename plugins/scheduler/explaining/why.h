// Why a task group finds a place or not: nodes by their first reason, the best nodes term by term, and the cheapest
// changes that would find one. Pure. The path of placing pays nothing for it: nodes are looked at once more, by
// failures.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "placing/board.h"

namespace drover::v1 {
class AllocMetric;
class WhyReason;
class WhyResponse;
}  // namespace drover::v1

namespace drover::scheduler {

struct WhyInput {
  const Cluster& cluster;                  // with everything that takes room
  std::span<const v1::Allocation> allocs;  // of the job
  const v1::Job& job;
  PlacingRules rules = {};
  OtherJobs others = {};
  StorageRows storage = {};
};

// Why nodes were no use, as a metric counted them, in the order of their texts.
std::vector<v1::WhyReason> reasons_of(const v1::AllocMetric& metric, const std::string& group);

// Adds the best nodes that a metric names, term by term, without the nodes' names.
void add_best(const v1::AllocMetric& metric, const std::string& group, v1::WhyResponse& response);

// Adds what is to be said about one more allocation of the group.
void explain_group(const WhyInput& input, const v1::TaskGroup& group, v1::WhyResponse& response);

}  // namespace drover::scheduler
