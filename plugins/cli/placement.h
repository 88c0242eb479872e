// Why an allocation could not be placed, or was placed where it is, in the field's words. Pure.
#pragma once

#include <string>

namespace drover::v1 {
class AllocMetric;
}

namespace drover::cli {

// Bulleted lines of one AllocMetric, each after `prefix`.
std::string format_metric(const v1::AllocMetric& metric, const std::string& prefix);
// The best nodes with the parts of their scores, as a list; empty when there are none.
std::string format_scores(const v1::AllocMetric& metric);
// Task Group "web" (failed to place 2 allocations):
std::string failure_headline(const std::string& group, const v1::AllocMetric& metric);

}  // namespace drover::cli
