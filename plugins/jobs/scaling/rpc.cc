#include "scaling/rpc.h"

#include "drover/api/jobs.pb.h"
#include "drover/api/scaling.pb.h"
#include "drover/model/allocation.h"
#include "drover/model/deployment.h"
#include "drover/model/listing.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "jobs.pb.h"
#include "registration.h"
#include "scaling/scaling.h"

namespace drover::jobs {
namespace {

void count(const v1::Allocation& alloc, v1::GroupScaleStatus& group) {
  group.set_placed(group.placed() + 1);
  if (alloc.client_status() == v1::CLIENT_STATUS_RUNNING) group.set_running(group.running() + 1);
  if (!alloc.deployment_status().has_healthy()) return;
  if (alloc.deployment_status().healthy()) {
    group.set_healthy(group.healthy() + 1);
  } else {
    group.set_unhealthy(group.unhealthy() + 1);
  }
}

}  // namespace

std::vector<MethodBinding> ScalingHandlers::of_jobs() {
  return {method<&ScalingHandlers::scale_job>("Scale", this), method<&ScalingHandlers::status>("ScaleStatus", this)};
}

std::vector<MethodBinding> ScalingHandlers::of_policies() {
  return {method<&ScalingHandlers::policies>("ListPolicies", this),
          method<&ScalingHandlers::policy>("GetPolicy", this)};
}

void ScalingHandlers::start(Host& host) {
  host_ = &host;
  if (auto table = host.find_table("allocs")) allocs_ = Table<v1::Allocation>(*table);
  if (auto table = host.find_table("deployments")) deployments_ = Table<v1::Deployment>(*table);
}

// The newest deployment counts, if it is of this job and not of one that had its name before.
bool ScalingHandlers::is_deploying(const v1::Job& job, const ReadView& view) const {
  if (!deployments_.id().valid()) return false;
  bool deploys = false;
  deployments_.scan(view, kDeploymentsByJob, of_job(job.namespace_(), job.id()),
                    [&](v1::Deployment& newest, std::string_view) {
                      deploys = newest.job_create_index() == job.create_index() && is_active(newest);
                      return false;
                    });
  return deploys;
}

Result<Write<v1::RegisterJobResponse>> ScalingHandlers::scale_job(const v1::ScaleJobRequest& request, Call& call) {
  const std::string& name_space = call.query().name_space;
  DROVER_RETURN_IF_ERROR(may_register(call, call.view(), *host_));
  DROVER_RETURN_IF_ERROR(check_scale_request(request, name_space));
  auto job = tables_.jobs.get(call.view(), job_key(name_space, request.job_id()));
  if (!job) return not_found("job \"" + request.job_id() + "\" not found");
  v1::JobScaled command;
  v1::ScalingEvent& event = *command.mutable_event();
  DROVER_RETURN_IF_ERROR(scale(*job, request, event));
  if (request.has_count() && is_deploying(*job, call.view())) {
    return invalid_argument("job scaling blocked due to active deployment");
  }
  command.set_namespace_(name_space);
  command.set_job_id(job->id());
  command.set_group(request.target().at("Group"));
  event.set_time(host_->clock().wall_ns());
  v1::RegisterJobResponse response;
  response.set_job_modify_index(job->job_modify_index());
  if (request.has_count()) {
    const uint64_t known = request.enforce_index() ? request.job_modify_index() : job->job_modify_index();
    *command.mutable_registration() = registration_of(*std::move(job), "job-scaling", event.time());
    command.mutable_registration()->set_enforce_index(true);
    command.mutable_registration()->set_job_modify_index(known);
    response.set_eval_id(command.registration().evaluation().id());
    event.set_eval_id(response.eval_id());
  }
  return Write<v1::RegisterJobResponse>(command,
                                        [response](const Applied& applied) { return registered(response, applied); });
}

Result<v1::JobScaleStatusResponse> ScalingHandlers::status(const v1::JobRequest& request, Call& call) {
  const std::string key = job_key(call.query().name_space, request.job_id());
  const auto job = tables_.jobs.get(call.view(), key);
  if (!job) return not_found("job not found");
  v1::JobScaleStatusResponse response;
  v1::JobScaleStatus& status = *response.mutable_status();
  status.set_job_id(job->id());
  status.set_namespace_(job->namespace_());
  status.set_job_create_index(job->create_index());
  status.set_job_modify_index(job->job_modify_index());
  status.set_job_stopped(job->stop());
  auto& groups = *status.mutable_task_groups();
  for (const v1::TaskGroup& group : job->task_groups()) groups[group.name()].set_desired(group.count());
  if (allocs_.id().valid()) {
    allocs_.scan(call.view(), kAllocsByJob, of_job(job->namespace_(), job->id()),
                 [&](v1::Allocation& alloc, std::string_view) {
                   const auto group = groups.find(alloc.task_group());
                   if (group != groups.end() && !terminal(alloc)) count(alloc, group->second);
                   return true;
                 });
  }
  if (const auto events = tables_.scaling.events.get(call.view(), key)) {
    for (const auto& [name, group] : events->groups()) {
      if (const auto at = groups.find(name); at != groups.end()) *at->second.mutable_events() = group.events();
    }
  }
  return response;
}

Result<v1::ListScalingPoliciesResponse> ScalingHandlers::policies(const v1::ListScalingPoliciesRequest& request,
                                                                  Call& call) {
  DROVER_TRY(const Listing listing, Listing::by_name(call.query()));
  v1::ListScalingPoliciesResponse response;
  const auto stub_of_row = [&](const Cursor& row) -> std::optional<v1::ScalingPolicyStub> {
    const v1::ScalingPolicy policy = Table<v1::ScalingPolicy>::parse(row.row());
    const auto job = policy.target().find("Job");
    if (!request.job().empty() && (job == policy.target().end() || job->second != request.job())) return std::nullopt;
    if (!request.type().empty() && policy.type() != request.type()) return std::nullopt;
    v1::ScalingPolicyStub stub;
    stub.set_id(policy.id());
    stub.set_enabled(policy.enabled());
    stub.set_type(policy.type());
    *stub.mutable_target() = policy.target();
    stub.set_create_index(policy.create_index());
    stub.set_modify_index(policy.modify_index());
    return stub;
  };
  const auto add = [&](v1::ScalingPolicyStub&& stub) { *response.add_policies() = std::move(stub); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.scaling.policies, stub_of_row, add));
  return response;
}

Result<v1::ScalingPolicyResponse> ScalingHandlers::policy(const v1::ScalingPolicyRequest& request, Call& call) {
  auto policy = tables_.scaling.policies.get_by(call.view(), kPoliciesById, request.id());
  if (!policy || !call.allowed_in(policy->target().at("Namespace"))) return not_found("policy not found");
  call.set_index(policy->modify_index());
  v1::ScalingPolicyResponse response;
  *response.mutable_policy() = *std::move(policy);
  return response;
}

}  // namespace drover::jobs
