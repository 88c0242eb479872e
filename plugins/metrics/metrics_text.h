// Metrics in the two forms that tools read. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/metrics.h"

namespace drover::metrics {

// Prometheus' text format: dots become underscores, timers become summaries in milliseconds; the help is the name.
std::string to_prometheus(const std::vector<Metrics::Value>& values);
// {"Timestamp", "Gauges", "Points", "Counters", "Samples"}. Counters and samples are those since `started_ns`, the
// agent's start; Rate is their sum in a second of that time. Both times in nanoseconds since 1970.
std::string to_summary(const std::vector<Metrics::Value>& values, int64_t started_ns, int64_t wall_ns);

}  // namespace drover::metrics
