#include "drover/allocation_stub.h"

#include "drover/api/allocations.pb.h"

namespace drover {

v1::AllocationListStub stub_of(const v1::Allocation& alloc, const std::string& job_type, StubParts parts) {
  v1::AllocationListStub stub;
  stub.set_id(alloc.id());
  stub.set_eval_id(alloc.eval_id());
  stub.set_name(alloc.name());
  stub.set_namespace_(alloc.namespace_());
  stub.set_node_id(alloc.node_id());
  stub.set_node_name(alloc.node_name());
  stub.set_job_id(alloc.job_id());
  stub.set_job_type(job_type);
  stub.set_job_version(alloc.job_version());
  stub.set_task_group(alloc.task_group());
  if (parts.resources) *stub.mutable_allocated_resources() = alloc.allocated_resources();
  stub.set_desired_status(alloc.desired_status());
  stub.set_desired_description(alloc.desired_description());
  stub.set_client_status(alloc.client_status());
  stub.set_client_description(alloc.client_description());
  *stub.mutable_desired_transition() = alloc.desired_transition();
  if (parts.task_states) *stub.mutable_task_states() = alloc.task_states();
  stub.set_followup_eval_id(alloc.followup_eval_id());
  if (alloc.has_reschedule_tracker()) *stub.mutable_reschedule_tracker() = alloc.reschedule_tracker();
  if (alloc.has_deployment_status()) *stub.mutable_deployment_status() = alloc.deployment_status();
  *stub.mutable_preempted_allocations() = alloc.preempted_allocations();
  stub.set_preempted_by_allocation(alloc.preempted_by_allocation());
  stub.set_create_index(alloc.create_index());
  stub.set_modify_index(alloc.modify_index());
  stub.set_create_time(alloc.create_time());
  stub.set_modify_time(alloc.modify_time());
  return stub;
}

}  // namespace drover
