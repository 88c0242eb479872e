#include "placed.h"

#include <algorithm>

#include "descriptions.h"
#include "disconnects.h"
#include "drover/model/evaluation.h"
#include "drover/uuid.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/trial.pb.h"

namespace drover::scheduler {
namespace {

// Adds up, by task and over instances, the resources that a group without a place lacks.
void add_missing(const v1::TaskGroup& group, v1::AllocMetric& metric) {
  const bool lacks_cpu = metric.dimension_exhausted().contains("cpu");
  const bool lacks_memory = metric.dimension_exhausted().contains("memory");
  if (metric.dimension_exhausted().empty()) return;
  for (const v1::Task& task : group.tasks()) {
    v1::Resources& missing = (*metric.mutable_resources_exhausted())[task.name()];
    missing.set_cpu(missing.cpu() + (lacks_cpu ? task.resources().cpu() : 0));
    missing.set_memory_mb(missing.memory_mb() + (lacks_memory ? task.resources().memory_mb() : 0));
    missing.set_cores(0);
    missing.set_memory_max_mb(0);
    missing.set_disk_mb(0);
    missing.set_iops(0);
  }
}

}  // namespace

v1::AllocationDelta& Changes::change(const v1::Allocation& alloc) {
  v1::AllocationDelta& delta = plan_.changed[alloc.node_id()].emplace_back();
  delta.set_id(alloc.id());
  return delta;
}

void Changes::stop(const v1::Allocation& alloc, const std::string& why, v1::ClientStatus client_status) {
  v1::AllocationDelta& delta = change(alloc);
  delta.set_desired_status(v1::DESIRED_STATUS_STOP);
  delta.set_desired_description(why);
  delta.set_client_status(client_status);
  if (client_status != v1::CLIENT_STATUS_UNSPECIFIED) *delta.add_add_states() = client_state(client_status, input_.now);
  board_.leave(alloc);
}

void Changes::lose_sight(const v1::Allocation& alloc) {
  v1::AllocationDelta& delta = change(alloc);
  delta.set_client_status(v1::CLIENT_STATUS_UNKNOWN);
  delta.set_client_description(kUnknown);
  *delta.add_add_states() = client_state(v1::CLIENT_STATUS_UNKNOWN, input_.now);
}

void Changes::reconnect(const v1::Allocation& alloc) {
  *change(alloc).add_add_states() = client_state(alloc.client_status(), input_.now);
}

void Changes::evict(const std::vector<const v1::Allocation*>& evicted, const v1::Allocation& by) {
  for (const v1::Allocation* alloc : evicted) {
    v1::AllocationDelta& delta = change(*alloc);
    delta.set_desired_status(v1::DESIRED_STATUS_EVICT);
    delta.set_desired_description("Preempted by alloc ID " + Uuid::from_bytes(by.id()).to_string());
    delta.set_preempted_by_allocation(by.id());
    const auto known = std::ranges::any_of(plan_.evaluations, [&](const v1::Evaluation& eval) {
      return eval.triggered_by() == "preemption" && eval.namespace_() == alloc->namespace_() &&
             eval.job_id() == alloc->job_id();
    });
    if (known) continue;
    // Type and priority are the other job's; who reads the snapshot fills them in.
    plan_.evaluations.push_back(
        new_evaluation(input_.new_id(), alloc->namespace_(), alloc->job_id(), nullptr, "preemption"));
  }
}

v1::Evaluation& Changes::evaluate_at(int64_t when, const char* trigger, const char* why) {
  v1::Evaluation& eval = plan_.evaluations.emplace_back();
  eval = new_evaluation(input_.new_id(), *input_.job, trigger);
  eval.set_priority(input_.eval.priority());
  eval.set_status_description(why);
  eval.set_wait_until(when);
  eval.set_previous_eval(input_.eval.id());
  return eval;
}

void describe_placed(const v1::Job& job, const v1::TaskGroup& group, const std::string& name,
                     const Scheduler::Input& input, v1::Allocation& alloc) {
  alloc.set_namespace_(job.namespace_());
  alloc.set_eval_id(input.eval.id());
  alloc.set_name(name);
  alloc.set_job_id(job.id());
  alloc.set_job_version(job.version());
  alloc.set_job_create_index(job.create_index());
  alloc.set_task_group(group.name());
  alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
  alloc.set_client_status(v1::CLIENT_STATUS_PENDING);
}

void count_evicted(size_t number, v1::DesiredUpdates& desired) {
  desired.set_preemptions(desired.preemptions() + number);
}

void add_failure(const v1::TaskGroup& group, const v1::AllocMetric& metric,
                 std::map<std::string, v1::AllocMetric>& failed) {
  auto [kept, first] = failed.try_emplace(group.name(), metric);
  if (!first) kept->second.set_coalesced_failures(kept->second.coalesced_failures() + 1);
  add_missing(group, kept->second);
}

}  // namespace drover::scheduler
