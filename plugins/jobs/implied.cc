#include "implied.h"

#include <algorithm>
#include <set>
#include <string>

#include "drover/resolved_service.h"
#include "drover/v1/job.pb.h"

namespace drover::jobs {
namespace {

// Nothing when `stands_for_it` says so of one of the constraints that are there.
template <typename Test>
void add_unless(v1::TaskGroup& group, const v1::Constraint& constraint, Test stands_for_it) {
  if (!std::ranges::any_of(group.constraints(), stands_for_it)) *group.add_constraints() = constraint;
}

v1::Constraint constraint_of(const char* attribute, const char* operand, const std::string& value) {
  v1::Constraint constraint;
  constraint.set_l_target(attribute);
  constraint.set_operand(operand);
  constraint.set_r_target(value);
  return constraint;
}

void add(v1::TaskGroup& group, const v1::Constraint& constraint) {
  add_unless(group, constraint, [&](const v1::Constraint& there) {
    return there.l_target() == constraint.l_target() && there.operand() == constraint.operand() &&
           there.r_target() == constraint.r_target();
  });
}

// A constraint on the attribute in the job or in the group stands before the default.
void add_default(const v1::Job& job, v1::TaskGroup& group, const v1::Constraint& constraint) {
  const auto is_about_it = [&](const v1::Constraint& there) { return there.l_target() == constraint.l_target(); };
  if (!std::ranges::any_of(job.constraints(), is_about_it)) add_unless(group, constraint, is_about_it);
}

// `name_space`: of Consul, in which the service is to stand.
void of_service(const v1::Job& job, const v1::Service& service, const std::string& name_space, v1::TaskGroup& group) {
  if (service.provider() == "nomad") {
    add(group, constraint_of("${attr.nomad.service_discovery}", "=", "true"));
    if (service.checks_size() > 0) add(group, constraint_of("${attr.nomad.version}", "semver", ">= 1.4.0"));
    for (const v1::ServiceCheck& check : service.checks()) {
      if (check.type() == "http" || check.type() == "tcp") continue;  // every node has them
      add(group, constraint_of(("${attr.check." + check.type() + "}").c_str(), "is_set", ""));
    }
    return;
  }
  if (service.provider() != "consul") return;  // a program's: the node says whether it has it
  add_default(job, group, constraint_of("${attr.consul.version}", "semver", ">= 1.7.0"));
  if (!name_space.empty() && name_space != "default")
    add_default(job, group, constraint_of("${attr.consul.ft.namespaces}", "=", "true"));
}

void note_signals(const v1::Task& task, std::set<std::string>& signals) {
  if (!task.kill_signal().empty()) signals.insert(task.kill_signal());
  if (task.vault().change_mode() == "signal") signals.insert(task.vault().change_signal());
  if (task.identity().change_mode() == "signal") signals.insert(task.identity().change_signal());
  for (const v1::Identity& each : task.identities()) {
    if (each.change_mode() == "signal") signals.insert(each.change_signal());
  }
  for (const v1::Template& each : task.templates()) {
    if (each.change_mode() == "signal") signals.insert(each.change_signal());
  }
}

void of_signals(const std::set<std::string>& signals, v1::TaskGroup& group) {
  std::string text;
  for (const std::string& signal : signals) text += (text.empty() ? "" : ",") + signal;
  if (!text.empty()) add(group, constraint_of("${attr.os.signals}", "set_contains", text));
}

}  // namespace

void add_implied_identities(v1::Job& job, const IdentitiesFor& identities_for) {
  for (v1::TaskGroup& group : *job.mutable_task_groups()) {
    for (int i = 0; i < group.tasks_size(); ++i) {
      for (v1::Identity& identity : identities_for(group, group.tasks(i))) {
        v1::Task& task = *group.mutable_tasks(i);
        const bool is_there = std::ranges::any_of(
            task.identities(), [&](const v1::Identity& each) { return each.name() == identity.name(); });
        if (is_there) continue;
        if (identity.change_mode().empty()) identity.set_change_mode("noop");
        *task.add_identities() = std::move(identity);
      }
    }
  }
}

void add_implied_constraints(v1::Job& job) {
  for (v1::TaskGroup& group : *job.mutable_task_groups()) {
    for (const v1::Service& service : group.services()) of_service(job, service, group.consul().namespace_(), group);
    std::set<std::string> signals;  // of all tasks: they run on one node
    for (const v1::Task& task : group.tasks()) {
      for (const v1::Service& service : task.services())
        of_service(job, service, consul_namespace(group, task), group);
      if (task.has_vault()) add_default(job, group, constraint_of("${attr.vault.version}", "semver", ">= 0.6.1"));
      note_signals(task, signals);
    }
    of_signals(signals, group);
  }
}

}  // namespace drover::jobs
