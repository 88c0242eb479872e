#include "updates.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "drover/messages.h"
#include "drover/v1/job.pb.h"

namespace drover::scheduler {
namespace {

// A task without what may change under a running one.
v1::Task fixed_part(const v1::Job& job, const v1::TaskGroup& group, v1::Task task) {
  std::map<std::string, std::string> meta;
  for (const auto* from : {&job.meta(), &group.meta(), &std::as_const(task).meta()}) {
    for (const auto& [key, value] : *from) meta[key] = value;
  }
  task.mutable_meta()->clear();
  for (const auto& [key, value] : meta) (*task.mutable_meta())[key] = value;
  task.clear_affinities();  // the group's part has those of all tasks
  task.clear_constraints();
  task.clear_services();
  task.clear_restart_policy();
  task.clear_kill_timeout();
  task.clear_kill_signal();
  task.clear_shutdown_delay();
  task.clear_scaling_policies();
  task.clear_leader();
  task.clear_lifecycle();
  task.clear_dispatch_payload();
  const bool logs_off = task.log_config().disabled();
  task.clear_log_config();
  task.mutable_log_config()->set_disabled(logs_off);
  return task;
}

// The affinities of the job, the group and its tasks together, in an order of their own: how they are spread over the
// blocks does not matter.
void gather_affinities(const v1::Job& job, const v1::TaskGroup& from, v1::TaskGroup& to) {
  std::vector<v1::Affinity> all(job.affinities().begin(), job.affinities().end());
  all.insert(all.end(), from.affinities().begin(), from.affinities().end());
  for (const v1::Task& task : from.tasks()) all.insert(all.end(), task.affinities().begin(), task.affinities().end());
  std::ranges::sort(all, {}, [](const v1::Affinity& affinity) { return serialize(affinity); });
  to.clear_affinities();
  for (v1::Affinity& affinity : all) *to.add_affinities() = std::move(affinity);
}

void gather_spreads(const v1::Job& job, const v1::TaskGroup& from, v1::TaskGroup& to) {
  to.clear_spreads();
  for (const v1::Spread& spread : job.spreads()) *to.add_spreads() = spread;
  for (const v1::Spread& spread : from.spreads()) *to.add_spreads() = spread;
}

// A service may change under a running task, but for what makes it part of a mesh.
void keep_meshes(v1::TaskGroup& group) {
  std::vector<v1::Service> meshed;
  for (const v1::Service& service : group.services()) {
    if (!service.has_connect()) continue;
    v1::Service& part = meshed.emplace_back();
    part.set_name(service.name());
    part.set_port_label(service.port_label());
    *part.mutable_connect() = service.connect();
  }
  group.clear_services();
  for (v1::Service& service : meshed) *group.add_services() = std::move(service);
}

// The same of a group; what is left tells allocations apart.
std::string fixed_part(const v1::Job& job, const v1::TaskGroup& from) {
  v1::TaskGroup group = from;
  for (v1::Task& task : *group.mutable_tasks()) task = fixed_part(job, from, task);
  std::ranges::sort(*group.mutable_tasks(), {}, &v1::Task::name);
  gather_affinities(job, from, group);
  gather_spreads(job, from, group);
  keep_meshes(group);
  if (job.has_consul_namespace() && !group.has_consul()) {
    group.mutable_consul()->set_namespace_(job.consul_namespace());
  }
  group.clear_count();
  group.clear_update();
  group.clear_migrate();
  group.clear_constraints();
  group.clear_restart_policy();
  group.clear_reschedule_policy();
  group.clear_meta();  // is in the tasks'
  group.clear_scaling();
  group.clear_shutdown_delay();
  group.clear_stop_after_client_disconnect();
  group.clear_max_client_disconnect();
  group.clear_disconnect();
  group.clear_prevent_reschedule_on_lost();
  return serialize(group);
}

}  // namespace

bool needs_replacement(const v1::Job& from, const v1::TaskGroup& from_group, const v1::Job& to,
                       const v1::TaskGroup& to_group) {
  return fixed_part(from, from_group) != fixed_part(to, to_group);
}

std::set<std::string> replacing_tasks(const v1::Job& from, const v1::TaskGroup& from_group, const v1::Job& to,
                                      const v1::TaskGroup& to_group) {
  const auto parts_of = [](const v1::Job& job, const v1::TaskGroup& group) {
    std::map<std::string, std::string> parts;
    for (const v1::Task& task : group.tasks()) parts[task.name()] = serialize(fixed_part(job, group, task));
    return parts;
  };
  const auto before = parts_of(from, from_group), after = parts_of(to, to_group);
  std::set<std::string> names;
  for (const auto& [name, part] : before) {
    if (auto at = after.find(name); at == after.end() || at->second != part) names.insert(name);
  }
  for (const auto& [name, part] : after) {
    if (!before.contains(name)) names.insert(name);
  }
  return names;
}

}  // namespace drover::scheduler
