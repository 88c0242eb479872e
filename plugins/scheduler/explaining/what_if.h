// Foretells what happens if nodes are drained or lost, nodes or jobs come, or the settings change: the same schedulers
// decide on a fork of the cluster, job after job. Nothing is written.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "deciding/decide.h"
#include "drover/result.h"

namespace drover::v1 {
class WhatIfRequest;
class WhatIfResponse;
}  // namespace drover::v1

namespace drover::scheduler {

struct WhatIfInput {
  const ReadView& view;
  const Tables& tables;
  Cluster cluster;  // as cluster_of(view)
  int64_t now;      // nanoseconds since 1970
  std::stop_token stop = {};
  // Null: no plugin schedules jobs of that type.
  std::function<const Scheduler*(const std::string& type)> scheduler_of;
};

// `request`: with its jobs as registering them would store them. Drained nodes are emptied at once, without regard to
// how many allocations may move at the same time. Errors: not_found for a node that is not there; invalid_argument;
// cancelled.
Result<v1::WhatIfResponse> what_if(WhatIfInput input, const v1::WhatIfRequest& request);

}  // namespace drover::scheduler
