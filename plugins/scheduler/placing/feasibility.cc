#include "feasibility.h"

#include <algorithm>
#include <charconv>

#include "devices.h"
#include "drover/model/constraint.h"
#include "fit.h"

namespace drover::scheduler {
namespace {

bool driver_works(const std::string& driver, const v1::Node& node) {
  if (auto at = node.drivers().find(driver); at != node.drivers().end()) {
    return at->second.detected() && at->second.healthy();
  }
  auto at = node.attributes().find("driver." + driver);
  return at != node.attributes().end() && (at->second == "1" || at->second == "true");
}

bool network_present(const std::string& mode, const v1::Node& node) {
  if (mode.empty() || mode == "none") return true;
  if (mode == "host") return !host_network_of(node).ip.empty();
  const auto& resources = node.node_resources();
  return std::ranges::any_of(resources.networks(), [&](const auto& n) { return n.mode() == mode; }) ||
         std::ranges::any_of(resources.node_networks(), [&](const auto& n) { return n.mode() == mode; });
}

int allowed_of(const v1::Constraint& constraint) {
  const std::string& text = constraint.r_target();
  int allowed = 1;
  std::from_chars(text.data(), text.data() + text.size(), allowed);
  return allowed;
}

}  // namespace

bool in_pool(const v1::Job& job, const v1::Node& node) {
  if (job.node_pool() == "all") return true;
  const std::string pool = node.node_pool().empty() ? "default" : node.node_pool();
  return pool == (job.node_pool().empty() ? "default" : job.node_pool());
}

bool in_reach(const v1::Job& job, const v1::Node& node) {
  return in_pool(job, node) && std::ranges::any_of(job.datacenters(), [&](const std::string& pattern) {
           return glob_matches(pattern, node.datacenter());
         });
}

bool accepts_work(const v1::Node& node) {
  return node.status() == v1::NODE_STATUS_READY && !node.drain() && node.scheduling_eligibility() != "ineligible";
}

Feasibility::Feasibility(const v1::Job& job, const v1::TaskGroup& group) : group_(group) {
  const auto take = [&](const auto& constraints, bool whole_job) {
    for (const v1::Constraint& constraint : constraints) {
      if (constraint.operand() == "distinct_hosts") {
        if (constraint.r_target() != "false") distinct_.push_back({constraint, whole_job});
      } else if (constraint.operand() == "distinct_property") {
        distinct_.push_back({constraint, whole_job});
      } else {
        constraints_.push_back(constraint);
        escaped_ = escaped_ || escapes_class(constraint);
      }
    }
  };
  take(job.constraints(), true);
  take(group.constraints(), false);
  for (const v1::Task& task : group.tasks()) take(task.constraints(), false);
}

std::string Feasibility::check_constraints(const v1::Node& node) const {
  for (const v1::Constraint& constraint : constraints_) {
    if (!meets_constraint(constraint, node)) return constraint_text(constraint);
  }
  return {};
}

std::string Feasibility::check(const v1::Node& node) {
  std::string reason;
  if (escaped_ || node.computed_class().empty()) {
    reason = check_constraints(node);
  } else {
    auto known = by_class_.find(node.computed_class());
    if (known == by_class_.end()) known = by_class_.emplace(node.computed_class(), check_constraints(node)).first;
    reason = known->second;
  }
  if (!reason.empty()) return reason;
  // The health of drivers and devices and the networks are not part of the class.
  for (const v1::Task& task : group_.tasks()) {
    if (!driver_works(task.driver(), node)) return "missing drivers";
  }
  if (!could_have_devices(node, group_)) return "missing devices";
  for (const v1::NetworkResource& network : group_.networks()) {
    const bool has_ports = network.reserved_ports_size() + network.dynamic_ports_size() > 0;
    if ((network.mode() != "host" || has_ports) && !network_present(network.mode(), node)) return "missing network";
  }
  return {};
}

std::string Feasibility::check_distinct(const v1::Node& node, const std::vector<Neighbour>& neighbours) const {
  for (const Distinct& distinct : distinct_) {
    const bool hosts = distinct.constraint.operand() == "distinct_hosts";
    const std::string& property = distinct.constraint.l_target();
    const auto value = hosts ? std::nullopt : resolve_target(property, node);
    if (!hosts && !value) return "missing property \"" + property + "\"";
    int found = 0;
    for (const Neighbour& neighbour : neighbours) {
      if (!neighbour.node || (!distinct.whole_job && neighbour.group != group_.name())) continue;
      found += hosts ? neighbour.node->id() == node.id() : resolve_target(property, *neighbour.node) == value;
    }
    if (hosts && found > 0) return "distinct_hosts";
    if (!hosts && found >= allowed_of(distinct.constraint)) {
      return "distinct_property: " + property + "=" + *value + " used by " + std::to_string(found) + " allocs";
    }
  }
  return {};
}

}  // namespace drover::scheduler
