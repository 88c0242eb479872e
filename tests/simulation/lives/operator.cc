#include "operator.h"

#include <algorithm>

#include "drover/api/allocations.pb.h"
#include "drover/api/deployments.pb.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/model/allocation.h"
#include "drover/model/deployment.h"
#include "drover/model/disconnect.h"
#include "drover/uuid.h"

namespace drover::lives {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int kJobs = 4;  // that there are at one time

void constrain(v1::Job& job) {
  v1::Constraint& constraint = *job.add_constraints();
  constraint.set_l_target("${meta.kind}");
  constraint.set_operand("=");
  constraint.set_r_target("a");
}

void add_update(v1::TaskGroup& group, Random& random) {
  v1::UpdateStrategy& update = *group.mutable_update();
  update.set_max_parallel(random.between(1, 2));
  update.set_health_check("task_states");
  update.set_min_healthy_time(5 * kSecond);
  update.set_healthy_deadline(2 * kMinute);
  update.set_progress_deadline(random.one_in(6) ? 0 : 5 * kMinute);
  update.set_auto_revert(random.one_in(2));
  if (random.one_in(2)) {
    update.set_canary(random.between(1, 2));
    update.set_auto_promote(random.one_in(2));
  }
}

void add_policies(v1::TaskGroup& group, Random& random) {
  v1::ReschedulePolicy& reschedule = *group.mutable_reschedule_policy();
  switch (random.below(4)) {
    case 0:
      reschedule.set_attempts(0);
      reschedule.set_unlimited(false);
      break;
    case 1:
      reschedule.set_attempts(2);
      reschedule.set_interval(10 * kMinute);
      reschedule.set_delay(5 * kSecond);
      reschedule.set_delay_function("constant");
      reschedule.set_unlimited(false);
      break;
    default:
      reschedule.set_attempts(0);
      reschedule.set_delay(random.between(5, 40) * kSecond);
      reschedule.set_delay_function("exponential");
      reschedule.set_max_delay(3 * kMinute);
      reschedule.set_unlimited(true);
  }
  if (random.one_in(2)) {
    v1::DisconnectStrategy& disconnect = *group.mutable_disconnect();
    if (random.one_in(4)) {
      disconnect.set_stop_on_client_after(30 * kSecond);
    } else {
      disconnect.set_lost_after(random.between(1, 5) * kMinute);
    }
    disconnect.set_replace(random.one_in(2) || disconnect.has_stop_on_client_after());
    constexpr const char* kWays[] = {"best_score", "keep_original", "keep_replacement", "longest_running"};
    disconnect.set_reconcile(kWays[random.below(4)]);
  }
}

std::string text(const std::string& id) { return Uuid::from_bytes(id).to_string().substr(0, 8); }

// Of this version and judged unhealthy: it cannot be promoted.
bool has_ill_canary(const v1::Deployment& deployment, const Rows& rows) {
  for (const auto& [name, group] : deployment.task_groups()) {
    for (const std::string& id : group.placed_canaries()) {
      const auto at = rows.allocs.find(id);
      if (at == rows.allocs.end()) continue;
      const v1::AllocDeploymentStatus& status = at->second.deployment_status();
      if (status.has_healthy() && !status.healthy()) return true;
    }
  }
  return false;
}

}  // namespace

v1::Job Operator::a_job(const std::string& id) {
  constexpr const char* kTypes[] = {"service", "service", "service", "batch", "system", "sysbatch"};
  const std::string type = kTypes[random_.below(6)];
  v1::Job job;
  job.set_id(id);
  job.set_name(id);
  job.set_type(type);
  job.set_priority(random_.between(1, 3) * 25);
  job.add_datacenters("*");
  if (random_.one_in(3)) constrain(job);
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("app");
  group.set_count(type.starts_with("sys") ? 1 : random_.between(1, 6));
  if (random_.one_in(3)) {
    v1::NetworkResource& network = *group.add_networks();
    network.set_mode("host");
    v1::Port& port = random_.one_in(2) ? *network.add_reserved_ports() : *network.add_dynamic_ports();
    port.set_label("http");
    if (network.reserved_ports_size() > 0) port.set_value(8000 + random_.below(2));
  }
  if (type == "service" && !random_.one_in(4)) add_update(group, random_);
  if (!type.starts_with("sys")) {
    add_policies(group, random_);
    group.mutable_migrate()->set_max_parallel(random_.between(1, 2));
    if (random_.one_in(4)) {
      v1::Constraint& distinct = *group.add_constraints();
      distinct.set_operand("distinct_hosts");
      distinct.set_r_target("true");
    }
  } else if (random_.one_in(2)) {
    group.mutable_disconnect()->set_lost_after(random_.between(1, 5) * kMinute);
  }
  v1::Task& task = *group.add_tasks();
  task.set_name("main");
  task.set_driver("mock");
  (*task.mutable_env())["version"] = std::to_string(next_++);
  if (next_ % 4 == 0 && !stop_on_client_after(group)) group.set_prevent_reschedule_on_lost(true);
  if (random_.one_in(5)) {
    task.mutable_resources()->set_cores(random_.between(1, 2));
  } else {
    task.mutable_resources()->set_cpu(random_.between(1, 4) * 100);
  }
  task.mutable_resources()->set_memory_mb(random_.between(1, 4) * 100);
  return job;
}

template <typename Response, typename Request>
std::string Operator::outcome(std::string what, const std::string& method, const Request& request) {
  const auto answer = server_.call<Response>(method, request);
  return what + (answer ? "" : ": " + std::string(answer.status().message()));
}

std::string Operator::submit(const v1::Job& job, const std::string& what) {
  v1::RegisterJobRequest request;
  *request.mutable_job() = job;
  return outcome<v1::RegisterJobResponse>(what + " " + job.type() + " " + job.id(), "/drover.v1.Jobs/Register",
                                          request);
}

std::string Operator::update(v1::Job job) {
  job.set_stop(false);
  v1::TaskGroup& group = *job.mutable_task_groups(0);
  switch (random_.below(4)) {
    case 0:  // in place
      (*group.mutable_meta())["note"] = std::to_string(next_++);
      (*job.mutable_meta())["note"] = std::to_string(next_);
      return submit(job, "notes something in");
    case 1: {  // the same with another share, which may or may not be there
      v1::Resources& share = *group.mutable_tasks(0)->mutable_resources();
      share.set_memory_mb(random_.between(1, 8) * 100);
      return submit(job, "resizes");
    }
    case 2:
      if (job.type() == "service" && !group.has_update()) add_update(group, random_);
      if (group.has_update()) group.mutable_update()->set_canary(random_.below(3));
      if (group.update().canary() == 0 && group.has_update()) group.mutable_update()->set_auto_promote(false);
      break;
    default:
      if (!job.type().starts_with("sys") && random_.one_in(3)) group.set_count(random_.between(0, 6));
      break;
  }
  (*group.mutable_tasks(0)->mutable_env())["version"] = std::to_string(next_++);
  return submit(job, "replaces");
}

std::string Operator::scale(const v1::Job& job) {
  v1::ScaleJobRequest request;
  request.set_job_id(job.id());
  request.set_count(random_.between(0, 6));
  (*request.mutable_target())["Group"] = "app";
  return outcome<v1::RegisterJobResponse>("scales " + job.id() + " to " + std::to_string(request.count()),
                                          "/drover.v1.Jobs/Scale", request);
}

std::string Operator::revert(const v1::Job& job) {
  v1::RevertJobRequest request;
  request.set_job_id(job.id());
  request.set_path_job_id(job.id());
  request.set_job_version(job.version() == 0 ? 0
                                             : static_cast<uint64_t>(random_.below(static_cast<int>(job.version()))));
  return outcome<v1::RegisterJobResponse>("reverts " + job.id() + " to " + std::to_string(request.job_version()),
                                          "/drover.v1.Jobs/Revert", request);
}

std::string Operator::stop(const v1::Job& job, bool purge) {
  v1::DeregisterJobRequest request;
  request.set_job_id(job.id());
  request.set_purge(purge);
  return outcome<v1::DeregisterJobResponse>((purge ? "purges " : "stops ") + job.id(), "/drover.v1.Jobs/Deregister",
                                            request);
}

std::string Operator::handle(const v1::Deployment& deployment) {
  const std::string of = " the deployment " + text(deployment.id()) + " of " + deployment.job_id();
  switch (random_.below(5)) {
    case 0: {
      v1::FailDeploymentRequest request;
      request.set_deployment_id(deployment.id());
      return outcome<v1::DeploymentUpdateResponse>("fails" + of, "/drover.v1.Deployments/Fail", request);
    }
    case 1: {
      v1::PauseDeploymentRequest request;
      request.set_deployment_id(deployment.id());
      request.set_path_deployment_id(deployment.id());
      request.set_pause(deployment.status() != v1::DEPLOYMENT_STATUS_PAUSED);
      return outcome<v1::DeploymentUpdateResponse>((request.pause() ? "pauses" : "continues") + of,
                                                   "/drover.v1.Deployments/Pause", request);
    }
    default: {
      v1::PromoteDeploymentRequest request;
      request.set_deployment_id(deployment.id());
      request.set_path_deployment_id(deployment.id());
      request.set_all(true);
      return outcome<v1::DeploymentUpdateResponse>("promotes" + of, "/drover.v1.Deployments/Promote", request);
    }
  }
}

std::string Operator::stop_one(const Rows& rows) {
  std::vector<std::string> live;
  for (const auto& [id, alloc] : rows.allocs) {
    if (!terminal(alloc)) live.push_back(id);
  }
  if (live.empty()) return "finds nothing to stop";
  v1::StopAllocationRequest request;
  request.set_alloc_id(live[static_cast<size_t>(random_.below(static_cast<int>(live.size())))]);
  return outcome<v1::StopAllocationResponse>("stops the allocation " + text(request.alloc_id()),
                                             "/drover.v1.Allocations/Stop", request);
}

std::string Operator::act(const Rows& rows) {
  const std::string id = "job" + std::to_string(random_.below(kJobs));
  const auto at = rows.jobs.find(id);
  if (at == rows.jobs.end()) return submit(a_job(id), "registers");
  const v1::Job& job = at->second;
  const v1::Deployment* deployment = rows.deployment_of(job);
  if (deployment && is_active(*deployment) && random_.one_in(2)) return handle(*deployment);
  switch (random_.below(10)) {
    case 0:
      return stop(job, /*purge=*/false);
    case 1:
      return random_.one_in(2) ? stop(job, /*purge=*/true) : submit(a_job(id), "makes something else of");
    case 2:
      return revert(job);
    case 3:
      return stop_one(rows);
    case 4: {
      v1::EvaluateJobRequest request;
      request.set_path_job_id(id);
      request.mutable_eval_options()->set_force_reschedule(random_.one_in(2));
      return outcome<v1::RegisterJobResponse>("has " + id + " looked at", "/drover.v1.Jobs/Evaluate", request);
    }
    case 5:
    case 6:
      return scale(job);
    default:
      return update(job);
  }
}

std::string Operator::act_on(const std::string& node_id) {
  const std::string node = "node " + text(node_id);
  if (random_.one_in(4)) {
    v1::NodeEligibilityRequest request;
    request.set_node_id(node_id);
    request.set_eligibility(random_.one_in(2) ? "eligible" : "ineligible");
    return outcome<v1::NodeUpdateResponse>("makes " + node + " " + request.eligibility(),
                                           "/drover.v1.Nodes/Eligibility", request);
  }
  v1::NodeDrainRequest request;
  request.set_node_id(node_id);
  if (random_.one_in(3)) {
    request.set_mark_eligible(random_.one_in(2));
    return outcome<v1::NodeDrainResponse>("ends the drain of " + node, "/drover.v1.Nodes/Drain", request);
  }
  v1::DrainSpec& spec = *request.mutable_drain_spec();
  spec.set_deadline(random_.one_in(4) ? -1 : random_.one_in(4) ? 0 : random_.between(1, 10) * 30 * kSecond);
  spec.set_ignore_system_jobs(random_.one_in(3));
  return outcome<v1::NodeDrainResponse>("drains " + node + " within " + std::to_string(spec.deadline() / kSecond) +
                                            " s" + (spec.ignore_system_jobs() ? " but for system jobs" : ""),
                                        "/drover.v1.Nodes/Drain", request);
}

std::string Operator::tidy(const Rows& rows) {
  std::string did;
  const auto note = [&](const std::string& what) { did += (did.empty() ? "" : "; ") + what; };
  const auto mend = [&](const v1::Job& job) {
    v1::Job next = job;
    (*next.mutable_task_groups(0)->mutable_tasks(0)->mutable_env())["version"] = std::to_string(next_++);
    note(submit(next, "mends"));
  };
  for (const auto& [id, job] : rows.jobs) {
    const v1::Deployment* deployment = rows.deployment_of(job);
    if (!deployment || job.stop()) continue;
    if (deployment->status() == v1::DEPLOYMENT_STATUS_PAUSED) {
      v1::PauseDeploymentRequest request;
      request.set_deployment_id(deployment->id());
      request.set_path_deployment_id(deployment->id());
      note(outcome<v1::DeploymentUpdateResponse>("continues " + id, "/drover.v1.Deployments/Pause", request));
    } else if (is_active(*deployment)) {
      bool waits = false;
      for (const auto& [name, group] : deployment->task_groups()) {
        waits = waits || (group.desired_canaries() > 0 && !group.promoted());
      }
      if (!waits) continue;
      v1::PromoteDeploymentRequest request;
      request.set_deployment_id(deployment->id());
      request.set_path_deployment_id(deployment->id());
      request.set_all(true);
      note(outcome<v1::DeploymentUpdateResponse>("promotes " + id, "/drover.v1.Deployments/Promote", request));
      // An ill canary stays ill, and its deployment may wait for ever while others of its version are well.
      if (has_ill_canary(*deployment, rows)) mend(job);
    } else if (deployment->status() == v1::DEPLOYMENT_STATUS_FAILED && deployment->job_version() == job.version()) {
      mend(job);
    }
  }
  return did;
}

}  // namespace drover::lives
