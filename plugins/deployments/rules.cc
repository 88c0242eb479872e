#include "rules.h"

#include <algorithm>
#include <map>
#include <set>

#include "drover/model/job.h"
#include "drover/schema.h"

namespace drover::deployments {
namespace {

// The names of a map's groups in order, so that texts are the same everywhere.
std::set<std::string> names_of(const v1::Deployment& deployment) {
  std::set<std::string> names;
  for (const auto& [name, group] : deployment.task_groups()) names.insert(name);
  return names;
}

}  // namespace

std::string_view status_word(v1::DeploymentStatus status) {
  switch (status) {
    case v1::DEPLOYMENT_STATUS_INITIALIZING:
      return "initializing";
    case v1::DEPLOYMENT_STATUS_PENDING:
      return "pending";
    case v1::DEPLOYMENT_STATUS_RUNNING:
      return "running";
    case v1::DEPLOYMENT_STATUS_PAUSED:
      return "paused";
    case v1::DEPLOYMENT_STATUS_BLOCKED:
      return "blocked";
    case v1::DEPLOYMENT_STATUS_UNBLOCKING:
      return "unblocking";
    case v1::DEPLOYMENT_STATUS_SUCCESSFUL:
      return "successful";
    case v1::DEPLOYMENT_STATUS_FAILED:
      return "failed";
    case v1::DEPLOYMENT_STATUS_CANCELLED:
      return "cancelled";
    default:
      return "";
  }
}

bool requires_promotion(const v1::Deployment& deployment) {
  return is_active(deployment) && std::ranges::any_of(deployment.task_groups(), [](const auto& entry) {
           return entry.second.desired_canaries() > 0 && !entry.second.promoted();
         });
}

std::vector<std::string> not_promotable(const v1::Deployment& deployment, const std::vector<v1::Allocation>& allocs,
                                        const std::vector<std::string>& groups) {
  std::vector<std::string> problems;
  for (const std::string& name : names_of(deployment)) {
    if (!groups.empty() && std::ranges::find(groups, name) == groups.end()) continue;
    const v1::DeploymentState& group = deployment.task_groups().at(name);
    if (group.desired_canaries() == 0) continue;
    const auto& canaries = group.placed_canaries();
    const auto healthy = std::ranges::count_if(allocs, [&](const v1::Allocation& alloc) {
      return is_healthy(alloc) && std::ranges::find(canaries, alloc.id()) != canaries.end();
    });
    if (healthy >= group.desired_canaries()) continue;
    problems.push_back("Task group \"" + name + "\" has " + std::to_string(healthy) + "/" +
                       std::to_string(group.desired_canaries()) + " healthy allocations");
  }
  return problems;
}

Revert revert_for(std::string_view why, const v1::Deployment& deployment, const std::vector<v1::Job>& versions) {
  Revert revert{.description = std::string(why), .to = {}};
  const v1::Job* stable = nullptr;
  const v1::Job* own = nullptr;
  for (const v1::Job& job : versions) {
    if (job.create_index() != deployment.job_create_index()) continue;  // of a job of that name that was purged
    if (!stable && job.stable() && !job.stop()) stable = &job;
    if (job.version() == deployment.job_version()) own = &job;
  }
  if (!stable) {
    revert.description += " - no stable job version to auto revert to";
    return revert;
  }
  const std::string version = std::to_string(stable->version());
  if (own && specification(*own) == specification(*stable)) {
    revert.description +=
        " - not rolling back to stable job version " + version + " as current job has same specification";
    return revert;
  }
  revert.description += " - rolling back to job version " + version;
  revert.to = *stable;
  return revert;
}

std::vector<v1::Allocation> allocs_of(const v1::Deployment& deployment, TableId allocs, const ReadView& view) {
  std::vector<v1::Allocation> own;
  Table<v1::Allocation>(allocs).scan(view, kAllocsByJob, of_job(deployment.namespace_(), deployment.job_id()),
                                     [&](v1::Allocation& alloc, std::string_view) {
                                       if (alloc.deployment_id() == deployment.id()) own.push_back(std::move(alloc));
                                       return true;
                                     });
  return own;
}

}  // namespace drover::deployments
