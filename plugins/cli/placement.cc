#include "placement.h"

#include <nlohmann/json.hpp>

#include "output.h"

namespace drover::cli {

std::string format_metric(const nlohmann::json& metric, const std::string& prefix) {
  std::string out;
  const auto line = [&](const std::string& words) { out += prefix + "* " + words + "\n"; };
  const auto each = [&](std::string_view field, const auto& words) {
    for (const auto& [name, count] : member(metric, field).items()) line(words(name, count.dump()));
  };
  if (number(metric, "NodesEvaluated") == 0) line("No nodes were eligible for evaluation");
  for (const auto& [dc, count] : member(metric, "NodesAvailable").items()) {
    if (count == 0) line("No nodes are available in datacenter \"" + dc + "\"");
  }
  each("ClassFiltered", [](const std::string& n, const std::string& c) {
    return "Class \"" + n + "\": " + c + " nodes excluded by filter";
  });
  each("ConstraintFiltered", [](const std::string& n, const std::string& c) {
    return "Constraint \"" + n + "\": " + c + " nodes excluded by filter";
  });
  if (const int64_t exhausted = number(metric, "NodesExhausted"); exhausted > 0)
    line("Resources exhausted on " + std::to_string(exhausted) + " nodes");
  each("ClassExhausted",
       [](const std::string& n, const std::string& c) { return "Class \"" + n + "\" exhausted on " + c + " nodes"; });
  each("DimensionExhausted", [](const std::string& n, const std::string& c) {
    return "Dimension \"" + n + "\" exhausted on " + c + " nodes";
  });
  for (const auto& quota : member(metric, "QuotaExhausted"))
    line("Quota limit hit \"" + quota.get<std::string>() + "\"");
  return out;
}

std::string failure_headline(const std::string& group, const nlohmann::json& metric) {
  const int64_t missing = number(metric, "CoalescedFailures") + 1;
  return "Task Group \"" + group + "\" (failed to place " + std::to_string(missing) + " allocation" +
         (missing > 1 ? "s" : "") + "):";
}

}  // namespace drover::cli
