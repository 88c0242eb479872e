#include "placement.h"

#include <cstdio>
#include <set>
#include <vector>

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

std::string format_scores(const v1::AllocMetric& metric) {
  if (metric.score_meta_data().empty()) return {};
  std::set<std::string> parts;
  for (const v1::NodeScoreMeta& node : metric.score_meta_data()) {
    for (const auto& [part, score] : node.scores()) parts.insert(part);
  }
  const auto shown = [](double score) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", score);
    return std::string(text);
  };
  std::vector<std::vector<std::string>> rows(1, {"Node"});
  rows[0].insert(rows[0].end(), parts.begin(), parts.end());
  rows[0].push_back("final score");
  for (const v1::NodeScoreMeta& node : metric.score_meta_data()) {
    std::vector<std::string>& row = rows.emplace_back(1, id_text(node.node_id()));
    for (const std::string& part : parts) {
      const auto at = node.scores().find(part);
      row.push_back(shown(at == node.scores().end() ? 0 : at->second));
    }
    row.push_back(shown(node.norm_score()));
  }
  return format_list(rows);
}

std::string failure_headline(const std::string& group, const v1::AllocMetric& metric) {
  const int missing = metric.coalesced_failures() + 1;
  return "Task Group \"" + group + "\" (failed to place " + std::to_string(missing) + " allocation" +
         (missing > 1 ? "s" : "") + "):";
}

}  // namespace drover::cli
