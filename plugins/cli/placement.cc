#include "placement.h"

#include "drover/v1/allocation.pb.h"
#include "output.h"

namespace drover::cli {

std::string format_metric(const v1::AllocMetric& metric, const std::string& prefix) {
  std::string out;
  const auto line = [&](const std::string& words) { out += prefix + "* " + words + "\n"; };
  const auto each = [&](const auto& counts, const auto& words) {
    for (const auto& [name, count] : sorted(counts)) line(words(name, std::to_string(count)));
  };
  if (metric.nodes_evaluated() == 0) line("No nodes were eligible for evaluation");
  for (const auto& [dc, count] : sorted(metric.nodes_available())) {
    if (count == 0) line("No nodes are available in datacenter \"" + dc + "\"");
  }
  each(metric.class_filtered(), [](const std::string& n, const std::string& c) {
    return "Class \"" + n + "\": " + c + " nodes excluded by filter";
  });
  each(metric.constraint_filtered(), [](const std::string& n, const std::string& c) {
    return "Constraint \"" + n + "\": " + c + " nodes excluded by filter";
  });
  if (metric.nodes_exhausted() > 0)
    line("Resources exhausted on " + std::to_string(metric.nodes_exhausted()) + " nodes");
  each(metric.class_exhausted(),
       [](const std::string& n, const std::string& c) { return "Class \"" + n + "\" exhausted on " + c + " nodes"; });
  each(metric.dimension_exhausted(), [](const std::string& n, const std::string& c) {
    return "Dimension \"" + n + "\" exhausted on " + c + " nodes";
  });
  for (const std::string& quota : metric.quota_exhausted()) line("Quota limit hit \"" + quota + "\"");
  return out;
}

std::string failure_headline(const std::string& group, const v1::AllocMetric& metric) {
  const int missing = metric.coalesced_failures() + 1;
  return "Task Group \"" + group + "\" (failed to place " + std::to_string(missing) + " allocation" +
         (missing > 1 ? "s" : "") + "):";
}

}  // namespace drover::cli
