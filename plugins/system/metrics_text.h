// Metrics in the two forms that tools read. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/metrics.h"

namespace drover::system {

// Prometheus' text format: dots become underscores, timers become summaries in milliseconds.
std::string to_prometheus(const std::vector<Metrics::Value>& values);
// {"Timestamp", "Gauges", "Points", "Counters", "Samples"}.
std::string to_summary(const std::vector<Metrics::Value>& values, int64_t wall_ns);

}  // namespace drover::system
