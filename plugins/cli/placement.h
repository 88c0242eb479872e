// Why an allocation could not be placed, in the field's words. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace drover::cli {

// Bulleted lines of one AllocMetric, each after `prefix`.
std::string format_metric(const nlohmann::json& metric, const std::string& prefix);
// Task Group "web" (failed to place 2 allocations):
std::string failure_headline(const std::string& group, const nlohmann::json& metric);

}  // namespace drover::cli
