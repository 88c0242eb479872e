#include "rpc.h"

#include <algorithm>

#include "commands.h"
#include "deployments.pb.h"
#include "drover/allocation_stub.h"
#include "drover/api/deployments.pb.h"
#include "drover/message_fields.h"
#include "drover/model/listing.h"
#include "drover/schema.h"
#include "drover/uuid.h"

namespace drover::deployments {
namespace {

// The identifier in a body says the same as that of the path, and must be there.
Status check_ids(const std::string& path, const std::string& body) {
  if (body.empty()) return invalid_argument("DeploymentID must be specified");
  return path.empty() || path == body ? ok_status() : invalid_argument("Deployment ID does not match");
}

template <typename Command>
Write<v1::DeploymentUpdateResponse> answered(const Command& command, std::optional<uint64_t> reverted = {}) {
  v1::DeploymentUpdateResponse response;
  if (command.has_evaluation()) response.set_eval_id(command.evaluation().id());
  if (reverted) response.set_reverted_job_version(*reverted);
  return Write<v1::DeploymentUpdateResponse>(command, [response](const Applied& applied) mutable {
    if (!response.eval_id().empty()) response.set_eval_create_index(applied.index);
    response.set_deployment_modify_index(applied.index);
    return response;
  });
}

std::optional<uint64_t> version_of(const Revert& revert) {
  return revert.to ? std::optional<uint64_t>(revert.to->version()) : std::nullopt;
}

template <typename Command>
void set_failed(Command& command, const v1::Deployment& deployment, const Revert& revert) {
  command.mutable_update()->set_deployment_id(deployment.id());
  command.mutable_update()->set_status(v1::DEPLOYMENT_STATUS_FAILED);
  command.mutable_update()->set_description(revert.description);
  if (revert.to) *command.mutable_revert() = registration_of(*revert.to);
}

}  // namespace

Status Rpc::declare(Declarations& declare) {
  return declare.service(
      "drover.v1.Deployments",
      {method<&Rpc::list>("List", this), method<&Rpc::get>("Get", this), method<&Rpc::allocations>("Allocations", this),
       method<&Rpc::of_job>("OfJob", this), method<&Rpc::latest_of_job>("LatestOfJob", this),
       method<&Rpc::pause>("Pause", this), method<&Rpc::promote>("Promote", this), method<&Rpc::fail>("Fail", this),
       method<&Rpc::unblock>("Unblock", this), method<&Rpc::set_health>("SetAllocHealth", this)});
}

Result<v1::Deployment> Rpc::find(const std::string& id, Call& call) const {
  auto deployment = tables_.deployments.get(call.view(), id);
  if (!deployment || !call.allowed_in(deployment->namespace_())) return not_found("deployment not found");
  return *std::move(deployment);
}

Result<v1::Deployment> Rpc::find_active(const std::string& id, Call& call, std::string_view refusal) const {
  DROVER_TRY(v1::Deployment deployment, find(id, call));
  if (!is_active(deployment)) return failed_precondition(std::string(refusal));
  return deployment;
}

std::optional<v1::Job> Rpc::job_of(const v1::Deployment& deployment, Call& call) const {
  return Table<v1::Job>(tables_.jobs).get(call.view(), job_key(deployment.namespace_(), deployment.job_id()));
}

Result<Encoded<v1::ListDeploymentsResponse>> Rpc::list(const v1::ListDeploymentsRequest&, Call& call) {
  DROVER_TRY(const Listing listing, Listing::by_creation(call.query(), kDeploymentsByCreation));
  Encoded<v1::ListDeploymentsResponse> response;
  const auto wanted = [&](const Cursor& row) {
    std::optional bytes = row.row();
    if (!in_namespace(bytes_field(*bytes, v1::Deployment::kNamespaceFieldNumber), call)) bytes.reset();
    return bytes;
  };
  const auto add = [&](std::string_view row) {
    response.add(v1::ListDeploymentsResponse::kDeploymentsFieldNumber, row);
  };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.deployments, wanted, add));
  // Rows may vanish without any other row changing, so the whole table's index speaks for a list.
  call.set_index(call.view().table_index(tables_.deployments.id()));
  return response;
}

Result<v1::DeploymentResponse> Rpc::get(const v1::DeploymentRequest& request, Call& call) {
  v1::DeploymentResponse response;
  DROVER_TRY(*response.mutable_deployment(), find(request.deployment_id(), call));
  call.set_index(response.deployment().modify_index());
  return response;
}

Result<v1::AllocationStubsResponse> Rpc::allocations(const v1::DeploymentRequest& request, Call& call) {
  v1::AllocationStubsResponse response;
  if (const auto deployment = tables_.deployments.get(call.view(), request.deployment_id());
      deployment && call.allowed_in(deployment->namespace_())) {
    const auto job = job_of(*deployment, call);
    for (const v1::Allocation& alloc : allocs_of(*deployment, tables_.allocs, call.view())) {
      *response.add_allocations() = stub_of(alloc, job ? job->type() : "");
    }
  }
  call.set_index(call.view().table_index(tables_.allocs));
  return response;
}

std::vector<v1::Deployment> Rpc::deployments_of(const v1::OfJobRequest& request, Call& call) const {
  const std::string& name_space = call.query().name_space;
  const auto job = Table<v1::Job>(tables_.jobs).get(call.view(), job_key(name_space, request.job_id()));
  auto all = tables_.deployments.list(call.view(), kDeploymentsByJob, drover::of_job(name_space, request.job_id()));
  if (!request.all() && job) {
    std::erase_if(all, [&](const v1::Deployment& each) { return each.job_create_index() != job->create_index(); });
  }
  return all;
}

Result<v1::ListDeploymentsResponse> Rpc::of_job(const v1::OfJobRequest& request, Call& call) {
  v1::ListDeploymentsResponse response;
  for (v1::Deployment& deployment : deployments_of(request, call)) *response.add_deployments() = std::move(deployment);
  call.set_index(call.view().table_index(tables_.deployments.id()));
  return response;
}

Result<v1::DeploymentResponse> Rpc::latest_of_job(const v1::OfJobRequest& request, Call& call) {
  v1::DeploymentResponse response;
  auto all = deployments_of(request, call);
  if (!all.empty()) *response.mutable_deployment() = std::move(all.front());
  call.set_index(all.empty() ? call.view().table_index(tables_.deployments.id())
                             : response.deployment().modify_index());
  return response;
}

Result<Write<v1::DeploymentUpdateResponse>> Rpc::pause(const v1::PauseDeploymentRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(check_ids(request.path_deployment_id(), request.deployment_id()));
  DROVER_TRY(const v1::Deployment deployment,
             find_active(request.deployment_id(), call,
                         request.pause() ? "can't pause terminal deployment" : "can't resume terminal deployment"));
  v1::DeploymentStatusChanged command;
  command.mutable_update()->set_deployment_id(deployment.id());
  command.mutable_update()->set_status(request.pause() ? v1::DEPLOYMENT_STATUS_PAUSED : v1::DEPLOYMENT_STATUS_RUNNING);
  command.mutable_update()->set_description(std::string(request.pause() ? kPaused : kRunning));
  command.set_time(host_->clock().wall_ns());
  if (!request.pause()) {
    const auto job = job_of(deployment, call);
    *command.mutable_evaluation() = evaluation_of(deployment, job ? &*job : nullptr);
  }
  return answered(command);
}

Result<Write<v1::DeploymentUpdateResponse>> Rpc::promote(const v1::PromoteDeploymentRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(check_ids(request.path_deployment_id(), request.deployment_id()));
  if (request.all() == !request.groups().empty()) {
    return invalid_argument("either All or Groups must be set: all canaries are promoted, or those of the groups");
  }
  DROVER_TRY(const v1::Deployment deployment,
             find_active(request.deployment_id(), call, "can't promote terminal deployment"));
  for (const std::string& group : request.groups()) {
    if (!deployment.task_groups().contains(group)) {
      return invalid_argument("Groups: the deployment has no task group \"" + group + "\"");
    }
  }
  const auto job = job_of(deployment, call);
  v1::DeploymentPromoted command;
  command.set_deployment_id(deployment.id());
  command.set_all(request.all());
  *command.mutable_groups() = request.groups();
  *command.mutable_evaluation() = evaluation_of(deployment, job ? &*job : nullptr);
  command.set_time(host_->clock().wall_ns());
  return answered(command);
}

Revert Rpc::revert(std::string_view why, bool reverts, const v1::Deployment& deployment, Call& call) const {
  if (!reverts) return {.description = std::string(why), .to = {}};
  return revert_for(why, deployment,
                    Table<v1::Job>(tables_.job_versions)
                        .list(call.view(), kPrimary, drover::of_job(deployment.namespace_(), deployment.job_id())));
}

Result<Write<v1::DeploymentUpdateResponse>> Rpc::fail(const v1::FailDeploymentRequest& request, Call& call) {
  DROVER_TRY(const v1::Deployment deployment,
             find_active(request.deployment_id(), call, "can't fail terminal deployment"));
  const bool reverts =
      std::ranges::any_of(deployment.task_groups(), [](const auto& entry) { return entry.second.auto_revert(); });
  const Revert to = revert(kFailedByUser, reverts, deployment, call);
  const auto job = job_of(deployment, call);
  v1::DeploymentStatusChanged command;
  set_failed(command, deployment, to);
  *command.mutable_evaluation() = evaluation_of(deployment, job ? &*job : nullptr);
  command.set_time(host_->clock().wall_ns());
  return answered(command, version_of(to));
}

Result<Write<v1::DeploymentUpdateResponse>> Rpc::unblock(const v1::UnblockDeploymentRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(check_ids(request.path_deployment_id(), request.deployment_id()));
  DROVER_TRY(const v1::Deployment deployment,
             find_active(request.deployment_id(), call, "can't unblock terminal deployment"));
  if (deployment.status() == v1::DEPLOYMENT_STATUS_RUNNING) {
    return failed_precondition("can't unblock running deployment");
  }
  return failed_precondition(
      "can't unblock the deployment: only deployments over several regions are ever blocked, and this version of "
      "drover "
      "does not support them");
}

Result<Write<v1::DeploymentUpdateResponse>> Rpc::set_health(const v1::SetAllocHealthRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(check_ids(request.path_deployment_id(), request.deployment_id()));
  if (request.healthy_allocation_ids().empty() && request.unhealthy_allocation_ids().empty()) {
    return invalid_argument("must specify at least one healthy/unhealthy allocation ID");
  }
  DROVER_TRY(const v1::Deployment deployment,
             find_active(request.deployment_id(), call, "can't set health of allocations for a terminal deployment"));
  const auto job = job_of(deployment, call);
  v1::DeploymentHealthSet command;
  command.set_deployment_id(deployment.id());
  *command.mutable_healthy_ids() = request.healthy_allocation_ids();
  *command.mutable_unhealthy_ids() = request.unhealthy_allocation_ids();
  *command.mutable_evaluation() = evaluation_of(deployment, job ? &*job : nullptr);
  command.set_time(host_->clock().wall_ns());
  if (request.unhealthy_allocation_ids().empty()) return answered(command);

  // An unhealthy one by hand fails the deployment at once.
  bool reverts = false;
  for (const std::string& id : request.unhealthy_allocation_ids()) {
    const auto alloc = Table<v1::Allocation>(tables_.allocs).get(call.view(), id);
    if (!alloc) continue;  // refused where the command is applied
    const auto group = deployment.task_groups().find(alloc->task_group());
    reverts = reverts || (group != deployment.task_groups().end() && group->second.auto_revert());
  }
  const Revert to = revert(kFailedAllocations, reverts, deployment, call);
  set_failed(command, deployment, to);
  return answered(command, version_of(to));
}

}  // namespace drover::deployments
