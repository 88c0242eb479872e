#include "tables.h"

#include <algorithm>

#include "deployments.pb.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "rules.h"

namespace drover::deployments {
namespace {

std::string quoted(const std::string& id) { return "\"" + Uuid::from_bytes(id).to_string() + "\""; }

Status mark_stable(const v1::Deployment& deployment, ApplyContext& context) {
  v1::JobStabilityChanged command;
  command.set_namespace_(deployment.namespace_());
  command.set_job_id(deployment.job_id());
  command.set_job_version(deployment.job_version());
  command.set_stable(true);
  return also(context, command);
}

// Counts what happened in a group, and moves the time by which something must become healthy.
void count(v1::DeploymentState& group, const v1::DeploymentProgressed& progress) {
  group.set_placed_allocs(group.placed_allocs() + progress.placed());
  group.set_healthy_allocs(group.healthy_allocs() + progress.healthy());
  group.set_unhealthy_allocs(group.unhealthy_allocs() + progress.unhealthy());
  for (const std::string& canary : progress.placed_canaries()) {
    const auto& known = group.placed_canaries();
    if (std::ranges::find(known, canary) == known.end()) group.add_placed_canaries(canary);
  }
  if (group.progress_deadline() == 0) return;
  if (progress.placed() > 0 && group.require_progress_by() == 0) {
    group.set_require_progress_by(progress.time() + group.progress_deadline());
  }
  if (progress.healthy_at() > 0) {
    group.set_require_progress_by(
        std::max(group.require_progress_by(), progress.healthy_at() + group.progress_deadline()));
  }
}

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> updated(const v1::DeploymentsUpdated& command, ApplyContext& context) const {
    for (v1::Deployment deployment : command.created()) {
      const auto existing = tables_.deployments.get(context.rows(), deployment.id());
      deployment.set_create_index(existing ? existing->create_index() : context.index());
      deployment.set_create_time(existing ? existing->create_time() : command.time());
      DROVER_RETURN_IF_ERROR(put(std::move(deployment), command.time(), context));
    }
    for (const v1::DeploymentStatusUpdate& update : command.updates()) {
      auto deployment = tables_.deployments.get(context.rows(), update.deployment_id());
      if (!deployment || !is_active(*deployment)) continue;  // is over: its last word stands
      DROVER_RETURN_IF_ERROR(change(*std::move(deployment), update, command.time(), context));
    }
    return std::string();
  }

  Result<std::string> progressed(const v1::DeploymentProgressed& command, ApplyContext& context) const {
    auto deployment = tables_.deployments.get(context.rows(), command.deployment_id());
    if (!deployment) return std::string();  // collected: nobody counts any more
    const auto group = deployment->mutable_task_groups()->find(command.group());
    if (group == deployment->mutable_task_groups()->end()) return std::string();
    count(group->second, command);
    DROVER_RETURN_IF_ERROR(put(*std::move(deployment), command.time(), context));
    return std::string();
  }

  Result<std::string> promoted(const v1::DeploymentPromoted& command, ApplyContext& context) const {
    DROVER_TRY(v1::Deployment deployment, find_active(command.deployment_id(), context));
    std::vector<std::string> groups;
    if (!command.all()) groups.assign(command.groups().begin(), command.groups().end());
    const auto allocs = allocs_of(deployment, tables_.allocs, context.rows());
    if (const auto problems = not_promotable(deployment, allocs, groups); !problems.empty()) {
      std::string text =
          std::to_string(problems.size()) + (problems.size() == 1 ? " error occurred:" : " errors occurred:");
      for (const std::string& problem : problems) text += "\n\t* " + problem;
      return failed_precondition(text + "\n\n");
    }
    v1::AllocationsHealthChanged health;
    health.set_time(command.time());
    for (auto& [name, group] : *deployment.mutable_task_groups()) {
      if (!groups.empty() && std::ranges::find(groups, name) == groups.end()) continue;
      if (group.progress_deadline() > 0 && group.require_progress_by() > 0) {
        group.set_require_progress_by(command.time() + group.progress_deadline());
      }
      group.set_promoted(true);
      health.mutable_promoted_ids()->MergeFrom(group.placed_canaries());
    }
    std::ranges::sort(*health.mutable_promoted_ids());  // maps have no order of their own
    if (deployment.status() == v1::DEPLOYMENT_STATUS_RUNNING && !requires_promotion(deployment)) {
      deployment.set_status_description(std::string(kRunning));
    }
    DROVER_RETURN_IF_ERROR(put(std::move(deployment), command.time(), context));
    DROVER_RETURN_IF_ERROR(also(context, health));
    if (command.has_evaluation()) DROVER_RETURN_IF_ERROR(evaluate(command.evaluation(), command.time(), context));
    return std::string();
  }

  Result<std::string> status_changed(const v1::DeploymentStatusChanged& command, ApplyContext& context) const {
    DROVER_TRY(v1::Deployment deployment, find_active(command.update().deployment_id(), context));
    const v1::Deployment before = deployment;
    DROVER_RETURN_IF_ERROR(change(std::move(deployment), command.update(), command.time(), context));
    DROVER_RETURN_IF_ERROR(follow_up(before, command, context));
    return std::string();
  }

  Result<std::string> health_set(const v1::DeploymentHealthSet& command, ApplyContext& context) const {
    DROVER_TRY(v1::Deployment deployment, find_active(command.deployment_id(), context));
    v1::AllocationsHealthChanged health;
    for (const auto* ids : {&command.healthy_ids(), &command.unhealthy_ids()}) {
      for (const std::string& id : *ids) {
        const auto alloc = Table<v1::Allocation>(tables_.allocs).get(context.rows(), id);
        if (!alloc) return not_found("unknown alloc " + quoted(id));
        if (alloc->deployment_id() != deployment.id()) {
          return invalid_argument("alloc " + quoted(id) + " is not part of deployment " + quoted(deployment.id()));
        }
      }
    }
    *health.mutable_healthy_ids() = command.healthy_ids();
    *health.mutable_unhealthy_ids() = command.unhealthy_ids();
    health.set_time(command.time());
    // The numbers of the deployment change with the health, before its status does.
    DROVER_RETURN_IF_ERROR(also(context, health));
    if (command.has_update()) {
      DROVER_TRY(v1::Deployment counted, find_active(command.deployment_id(), context));
      DROVER_RETURN_IF_ERROR(change(std::move(counted), command.update(), command.time(), context));
    }
    DROVER_RETURN_IF_ERROR(follow_up(deployment, command, context));
    return std::string();
  }

  Result<std::string> deleted(const v1::DeploymentsDeleted& command, ApplyContext& context) const {
    for (const std::string& id : command.deployment_ids()) tables_.deployments.erase(context.rows(), id);
    return std::string();
  }

 private:
  Status put(v1::Deployment deployment, int64_t time, ApplyContext& context) const {
    deployment.set_modify_index(context.index());
    deployment.set_modify_time(time);
    return tables_.deployments.put(context.rows(), deployment);
  }

  Status change(v1::Deployment deployment, const v1::DeploymentStatusUpdate& update, int64_t time,
                ApplyContext& context) const {
    deployment.set_status(update.status());
    deployment.set_status_description(update.description());
    if (update.status() == v1::DEPLOYMENT_STATUS_SUCCESSFUL) DROVER_RETURN_IF_ERROR(mark_stable(deployment, context));
    return put(std::move(deployment), time, context);
  }

  Result<v1::Deployment> find_active(const std::string& id, ApplyContext& context) const {
    auto deployment = tables_.deployments.get(context.rows(), id);
    if (!deployment) return not_found("Deployment ID " + quoted(id) + " couldn't be updated as it does not exist");
    if (!is_active(*deployment)) {
      return failed_precondition("Deployment " + quoted(id) + " has terminal status \"" +
                                 std::string(status_word(deployment->status())) + "\":");
    }
    return *std::move(deployment);
  }

  Status evaluate(const v1::Evaluation& evaluation, int64_t time, ApplyContext& context) const {
    v1::EvalsUpdated evals;
    *evals.add_evaluations() = evaluation;
    evals.set_time(time);
    return also(context, evals);
  }

  // The job goes back, if it still is what the deployment was for, and is looked at.
  template <typename Command>
  Status follow_up(const v1::Deployment& deployment, const Command& command, ApplyContext& context) const {
    if (command.has_revert()) {
      const auto job =
          Table<v1::Job>(tables_.jobs).get(context.rows(), job_key(deployment.namespace_(), deployment.job_id()));
      if (job && !job->stop() && job->version() == deployment.job_version() &&
          job->create_index() == deployment.job_create_index()) {
        v1::JobRegistered revert = command.revert();
        revert.set_time(command.time());
        if (command.has_evaluation()) *revert.mutable_evaluation() = command.evaluation();
        return also(context, revert);
      }
    }
    return command.has_evaluation() ? evaluate(command.evaluation(), command.time(), context) : ok_status();
  }

  const Tables tables_;
};

}  // namespace

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_TRY(tables.deployments, declare_table(declare, deployments_table()));
  DROVER_TRY(tables.jobs, declare.other_table("jobs"));
  DROVER_TRY(tables.job_versions, declare.other_table("job_versions"));
  DROVER_TRY(tables.allocs, declare.other_table("allocs"));
  DROVER_TRY(tables.evals, declare.other_table("evals"));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::updated>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::progressed>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::promoted>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::status_changed>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::health_set>(commands));
  return declare.command<&Commands::deleted>(commands);
}

}  // namespace drover::deployments
