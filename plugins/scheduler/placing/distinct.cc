#include "distinct.h"

#include <algorithm>
#include <charconv>

#include "drover/model/constraint.h"

namespace drover::scheduler {
namespace {

constexpr std::string_view kHosts = "distinct_hosts";
constexpr std::string_view kProperty = "distinct_property";

}  // namespace

std::optional<bool> parse_bool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

bool is_distinct(const v1::Constraint& constraint) {
  return constraint.operand() == kHosts || constraint.operand() == kProperty;
}

Distinct::Distinct(const v1::Job& job, const v1::TaskGroup& group) : group_(group.name()) {
  for (const v1::Constraint& constraint : job.constraints()) add(constraint, /*whole_job=*/true);
  for (const v1::Constraint& constraint : group.constraints()) add(constraint, /*whole_job=*/false);
  for (const v1::Task& task : group.tasks()) {
    for (const v1::Constraint& constraint : task.constraints()) add(constraint, /*whole_job=*/false);
  }
  std::ranges::stable_sort(rules_, {}, [](const Rule& rule) { return !rule.property.empty(); });
}

void Distinct::add(const v1::Constraint& constraint, bool whole_job) {
  if (constraint.operand() == kHosts) {
    const std::string& wish = constraint.r_target();
    if (wish.empty() || parse_bool(wish).value_or(true)) rules_.push_back({.property = {}, .whole_job = whole_job});
    return;
  }
  if (constraint.operand() != kProperty) return;
  Rule rule{.property = constraint.l_target(), .whole_job = whole_job};
  const std::string& text = constraint.r_target();
  if (!text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rule.allowed);
    if (error != std::errc() || end != text.data() + text.size()) {
      const char* why = error == std::errc::result_out_of_range ? "value out of range" : "invalid syntax";
      rule.problem =
          "failed to convert RTarget \"" + text + "\" to uint64: strconv.ParseUint: parsing \"" + text + "\": " + why;
    }
  }
  rules_.push_back(std::move(rule));
}

void Distinct::count(const std::vector<Neighbour>& neighbours) {
  for (Rule& rule : rules_) {
    rule.used.clear();
    for (const Neighbour& neighbour : neighbours) {
      if (!neighbour.node || (!rule.whole_job && neighbour.group != group_)) continue;
      if (rule.property.empty()) {
        ++rule.used[neighbour.node->id()];
      } else if (!neighbour.stopping) {
        if (auto value = resolve_target(rule.property, *neighbour.node)) ++rule.used[*value];
      }
    }
  }
}

std::string Distinct::check(const v1::Node& node) const {
  for (const Rule& rule : rules_) {
    if (!rule.problem.empty()) return rule.problem;
    if (rule.property.empty()) {
      if (rule.used.contains(node.id())) return std::string(kHosts);
      continue;
    }
    const auto value = resolve_target(rule.property, node);
    if (!value) return "missing property \"" + rule.property + "\"";
    const auto at = rule.used.find(*value);
    const uint64_t used = at == rule.used.end() ? 0 : at->second;
    if (used < rule.allowed) continue;
    return "distinct_property: " + rule.property + "=" + *value + " used by " + std::to_string(used) + " allocs";
  }
  return {};
}

}  // namespace drover::scheduler
