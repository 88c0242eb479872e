#include "implied.h"

#include <algorithm>
#include <set>
#include <string>

#include "drover/v1/job.pb.h"

namespace drover::jobs {
namespace {

template <typename Owner>
void add(Owner& owner, const char* attribute, const char* operand, const std::string& value) {
  bool is_there = std::ranges::any_of(owner.constraints(), [&](const v1::Constraint& c) {
    return c.l_target() == attribute && c.operand() == operand && c.r_target() == value;
  });
  if (is_there) return;
  v1::Constraint& constraint = *owner.add_constraints();
  constraint.set_l_target(attribute);
  constraint.set_operand(operand);
  constraint.set_r_target(value);
}

void of_service(const v1::Service& service, v1::TaskGroup& group) {
  if (service.provider() == "nomad") {
    add(group, "${attr.nomad.service_discovery}", "=", "true");
    if (service.checks_size() > 0) add(group, "${attr.nomad.version}", "semver", ">= 1.4.0");
    return;
  }
  add(group, "${attr.consul.version}", "semver", ">= 1.7.0");
}

void of_signals(v1::Task& task) {
  std::set<std::string> signals;
  if (!task.kill_signal().empty()) signals.insert(task.kill_signal());
  if (task.vault().change_mode() == "signal") signals.insert(task.vault().change_signal());
  for (const v1::Template& each : task.templates()) {
    if (each.change_mode() == "signal") signals.insert(each.change_signal());
  }
  std::string text;
  for (const std::string& signal : signals) text += (text.empty() ? "" : ",") + signal;
  if (!text.empty()) add(task, "${attr.os.signals}", "set_contains", text);
}

}  // namespace

void add_implied_constraints(v1::Job& job) {
  for (v1::TaskGroup& group : *job.mutable_task_groups()) {
    for (const v1::Service& service : group.services()) of_service(service, group);
    for (v1::Task& task : *group.mutable_tasks()) {
      for (const v1::Service& service : task.services()) of_service(service, group);
      if (task.has_vault()) add(group, "${attr.vault.version}", "semver", ">= 0.6.1");
      of_signals(task);
    }
  }
}

}  // namespace drover::jobs
