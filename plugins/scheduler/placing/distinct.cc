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
}

void Distinct::add(const v1::Constraint& constraint, bool whole_job) {
  if (constraint.operand() == kHosts) {
    const std::string& wish = constraint.r_target();
    if (wish.empty() || parse_bool(wish).value_or(true)) hosts_.push_back({.whole_job = whole_job});
    return;
  }
  if (constraint.operand() != kProperty) return;
  Rule rule{.whole_job = whole_job, .property = constraint.l_target()};
  const std::string& text = constraint.r_target();
  if (!text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rule.allowed);
    if (error != std::errc() || end != text.data() + text.size()) {
      const char* why = error == std::errc::result_out_of_range ? "value out of range" : "invalid syntax";
      rule.problem =
          "failed to convert RTarget \"" + text + "\" to uint64: strconv.ParseUint: parsing \"" + text + "\": " + why;
    }
  }
  properties_.push_back(std::move(rule));
}

void Distinct::add(const Neighbour& neighbour, int sign) {
  if (!neighbour.node) return;
  const auto count = [&](Rule& rule, const std::string& value) {
    uint64_t& used = rule.used[value];
    used += static_cast<uint64_t>(int64_t{sign});
    if (used == 0) rule.used.erase(value);
  };
  const auto concerns = [&](const Rule& rule) { return rule.whole_job || neighbour.group == group_; };
  for (Rule& rule : hosts_) {
    if (concerns(rule)) count(rule, neighbour.node->id());
  }
  if (neighbour.stopping) return;
  for (Rule& rule : properties_) {
    if (!concerns(rule)) continue;
    if (const auto value = resolve_target(rule.property, *neighbour.node)) count(rule, *value);
  }
}

bool Distinct::escapes_class() const {
  return std::ranges::any_of(properties_, [](const Rule& rule) {
    v1::Constraint constraint;
    constraint.set_l_target(rule.property);
    return drover::escapes_class(constraint);
  });
}

std::string Distinct::check(const v1::Node& node) const {
  for (const Rule& rule : hosts_) {
    if (rule.used.contains(node.id())) return std::string(kHosts);
  }
  return check_properties(node);
}

std::string Distinct::check_properties(const v1::Node& node) const {
  for (const Rule& rule : properties_) {
    if (!rule.problem.empty()) return rule.problem;
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
