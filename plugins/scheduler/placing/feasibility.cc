#include "feasibility.h"

#include <algorithm>

#include "devices.h"
#include "distinct.h"
#include "drover/model/constraint.h"
#include "drover/model/csi_volume.h"
#include "ports.h"

namespace drover::scheduler {
namespace {

bool has_mode(const std::string& mode, const v1::Node& node) {
  const auto is_it = [&](const auto& network) {
    return network.mode() == mode || (network.mode().empty() && mode == "host");
  };
  const v1::NodeResources& resources = node.node_resources();
  return std::ranges::any_of(resources.node_networks(), is_it) || std::ranges::any_of(resources.networks(), is_it);
}

// Nodes whose addresses have no alias have one network of the host: "default".
bool has_alias(const std::string& alias, const v1::Node& node) {
  return HostAddresses(node).first_of(alias) != nullptr;
}

std::string check_port(const v1::Port& port, const v1::Node& node) {
  if (port.host_network().empty()) return {};
  const auto alias = host_network_of(port, node);
  if (!alias) return "invalid host network \"" + port.host_network() + "\" template for port \"" + port.label() + "\"";
  if (has_alias(*alias, node)) return {};
  return "missing host network \"" + *alias + "\" for port \"" + port.label() + "\"";
}

}  // namespace

bool driver_works(const std::string& driver, const v1::Node& node) {
  if (auto at = node.drivers().find(driver); at != node.drivers().end()) {
    return at->second.detected() && at->second.healthy();
  }
  auto at = node.attributes().find("driver." + driver);
  return at != node.attributes().end() && parse_bool(at->second).value_or(false);
}

bool has_own_host_volumes(const v1::TaskGroup& group) {
  return std::ranges::any_of(
      group.volumes(), [](const auto& volume) { return volume.second.type() == "host" && volume.second.per_alloc(); });
}

std::string volume_problem(const v1::TaskGroup& group, const v1::Node& node, std::string_view alloc_name) {
  for (const auto& [name, wanted] : group.volumes()) {
    if (wanted.type() != "host") continue;
    const auto at = node.host_volumes().find(csi_volume_id(wanted, alloc_name));
    if (at == node.host_volumes().end() || (at->second.read_only() && !wanted.read_only()))
      return "missing compatible host volumes";
  }
  return {};
}

// Only the first network of a group counts.
std::string network_problem(const v1::TaskGroup& group, const v1::Node& node) {
  if (group.networks().empty()) return {};
  const v1::NetworkResource& network = group.networks(0);
  const std::string mode = network.mode().empty() ? "host" : network.mode();
  if (mode == "none") return {};
  if (!has_mode(mode, node)) {
    // The host's network is always there; without an address it has no ports.
    if (mode != "host" || network.reserved_ports_size() + network.dynamic_ports_size() > 0) return "missing network";
  }
  for (const auto* ports : {&network.dynamic_ports(), &network.reserved_ports()}) {
    for (const v1::Port& port : *ports) {
      std::string problem = check_port(port, node);
      if (!problem.empty()) return problem;
    }
  }
  return {};
}

void ClassVerdicts::add(const v1::Constraint& constraint) {
  if (is_distinct(constraint)) return;
  constraints_.push_back(constraint);
  escaped_ = escaped_ || escapes_class(constraint);
}

std::string ClassVerdicts::look(const v1::Node& node) const {
  for (const v1::Constraint& constraint : constraints_) {
    if (!meets_constraint(constraint, node)) return constraint_text(constraint);
  }
  return {};
}

const std::string& ClassVerdicts::check(const v1::Node& node) {
  if (escaped_ || node.computed_class().empty()) return last_ = look(node);
  auto known = known_.find(node.computed_class());
  if (known == known_.end()) known = known_.emplace(node.computed_class(), look(node)).first;
  return known->second;
}

Feasibility::Feasibility(const v1::Job& job, const v1::TaskGroup& group)
    : group_(group), has_own_volumes_(has_own_host_volumes(group)) {
  for (const v1::Constraint& constraint : job.constraints()) job_.add(constraint);
  for (const v1::Constraint& constraint : group.constraints()) group_constraints_.add(constraint);
  for (const v1::Task& task : group.tasks()) {
    for (const v1::Constraint& constraint : task.constraints()) group_constraints_.add(constraint);
  }
}

bool Feasibility::ask_for(std::string_view alloc_name) {
  if (!has_own_volumes_ || alloc_name_ == alloc_name) return false;
  alloc_name_ = alloc_name;
  return true;
}

std::string Feasibility::check(const v1::Node& node) {
  // Both are asked: a blocked evaluation shall know of every class.
  const std::string of_job = job_.check(node);
  const std::string of_group = group_constraints_.check(node);
  if (!of_job.empty()) return of_job;
  // The health of drivers and devices, the networks and the volumes are not part of the class.
  for (const v1::Task& task : group_.tasks()) {
    if (!driver_works(task.driver(), node)) return "missing drivers";
  }
  if (!of_group.empty()) return of_group;
  if (std::string problem = volume_problem(group_, node, alloc_name_); !problem.empty()) return problem;
  if (!could_have_devices(node, group_)) return "missing devices";
  return network_problem(group_, node);
}

std::map<std::string, bool> Feasibility::classes() const {
  std::map<std::string, bool> classes;
  if (escaped()) return classes;
  for (const auto& [name, reason] : job_.known()) {
    const auto group = group_constraints_.known().find(name);
    classes[name] = reason.empty() && group != group_constraints_.known().end() && group->second.empty();
  }
  return classes;
}

}  // namespace drover::scheduler
