#include "scaling/scaling.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "drover/api/jobs.pb.h"
#include "drover/model/job.h"
#include "drover/v1/job.pb.h"

namespace drover::jobs {
namespace {

// The target's word under that name; "" without it.
std::string target(const v1::ScaleJobRequest& request, const std::string& name) {
  const auto at = request.target().find(name);
  return at == request.target().end() ? "" : at->second;
}

v1::TaskGroup* group_of(v1::Job& job, const std::string& name) {
  const auto at =
      std::ranges::find(*job.mutable_task_groups(), name, [](const v1::TaskGroup& group) { return group.name(); });
  return at == job.mutable_task_groups()->end() ? nullptr : &*at;
}

Status check_bounds(const v1::ScalingPolicy& policy, int64_t count) {
  const std::string counted = "group count was ";
  if (count < policy.min()) {
    return invalid_argument(counted + "less than scaling policy minimum: " + std::to_string(count) + " < " +
                            std::to_string(policy.min()));
  }
  if (count > policy.max()) {
    return invalid_argument(counted + "greater than scaling policy maximum: " + std::to_string(count) + " > " +
                            std::to_string(policy.max()));
  }
  return ok_status();
}

}  // namespace

Status check_scale_request(const v1::ScaleJobRequest& request, const std::string& name_space) {
  if (const std::string named = target(request, "Namespace"); !named.empty() && named != name_space) {
    return invalid_argument("namespace in payload did not match header");
  }
  if (const std::string named = target(request, "Job"); !named.empty() && named != request.job_id()) {
    return invalid_argument("job ID in payload did not match URL");
  }
  if (target(request, "Group").empty()) return invalid_argument("missing task group name for scaling action");
  if (!request.has_count()) return ok_status();
  if (request.count() < 0) return invalid_argument("scaling action count can't be negative");
  if (request.error()) return invalid_argument("scaling action should not contain count if error is true");
  if (request.count() > std::numeric_limits<int32_t>::max()) {
    return invalid_argument("new scaling count is too large for TaskGroup.Count (int): " +
                            std::to_string(request.count()));
  }
  return ok_status();
}

Status scale(v1::Job& job, const v1::ScaleJobRequest& request, v1::ScalingEvent& event) {
  const std::string name = target(request, "Group");
  v1::TaskGroup* group = group_of(job, name);
  if (!group) return invalid_argument("task group \"" + name + "\" specified for scaling does not exist in job");
  if (runs_everywhere(job)) {
    return invalid_argument("cannot scale jobs of type \"" + job.type() + "\"");
  }
  event.set_previous_count(group->count());
  event.set_message(request.message());
  event.set_error(request.error());
  event.set_meta(request.meta());
  if (!request.has_count()) return ok_status();
  if (group->has_scaling()) DROVER_RETURN_IF_ERROR(check_bounds(group->scaling(), request.count()));
  group->set_count(static_cast<int32_t>(request.count()));
  event.set_count(request.count());
  return ok_status();
}

void add_event(v1::JobScalingEvents& events, const std::string& group, v1::ScalingEvent event) {
  auto& kept = *(*events.mutable_groups())[group].mutable_events();
  *kept.Add() = std::move(event);
  std::rotate(kept.begin(), kept.end() - 1, kept.end());
  while (kept.size() > kTrackedScalingEvents) kept.RemoveLast();
}

std::vector<v1::ScalingPolicy> policies_of(const v1::Job& job) {
  std::vector<v1::ScalingPolicy> policies;
  if (!job.parent_id().empty()) return policies;
  for (const v1::TaskGroup& group : job.task_groups()) {
    if (!group.has_scaling()) continue;
    v1::ScalingPolicy& policy = policies.emplace_back(group.scaling());
    policy.set_enabled(policy.enabled() && !job.stop());
  }
  return policies;
}

}  // namespace drover::jobs
