#include "versions/rpc.h"

#include <algorithm>

#include "diff.h"
#include "drover/api/jobs.pb.h"
#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "jobs.pb.h"
#include "registration.h"

namespace drover::jobs {
namespace {

// The job of a request that says it twice: in its path and in its body.
Status check_job_id(const std::string& in_body, const std::string& in_path) {
  if (in_body.empty()) return invalid_argument("JobID must be specified");
  return in_body == in_path ? ok_status() : invalid_argument("Job ID does not match");
}

// The version that all are compared with. Errors: not_found.
Result<const v1::Job*> base_of(const v1::JobVersionsRequest& request, const v1::JobVersionsResponse& response) {
  const auto& kept = response.versions();
  if (!request.diff_tag().empty()) {
    const auto at =
        std::ranges::find(kept, request.diff_tag(), [](const v1::Job& job) { return job.version_tag().name(); });
    if (at == kept.end()) return not_found("tag \"" + request.diff_tag() + "\" not found");
    return &*at;
  }
  if (!request.has_diff_version()) return nullptr;
  const auto at = std::ranges::find(kept, request.diff_version(), [](const v1::Job& job) { return job.version(); });
  if (at == kept.end()) return not_found("version " + std::to_string(request.diff_version()) + " not found");
  return &*at;
}

}  // namespace

std::vector<MethodBinding> VersionHandlers::methods() {
  return {method<&VersionHandlers::versions>("Versions", this), method<&VersionHandlers::revert>("Revert", this),
          method<&VersionHandlers::stable>("Stable", this), method<&VersionHandlers::tag>("TagVersion", this),
          method<&VersionHandlers::untag>("UntagVersion", this)};
}

void VersionHandlers::start(Host& host, const Admission& admission) {
  host_ = &host;
  admission_ = &admission;
}

Result<v1::JobVersionsResponse> VersionHandlers::versions(const v1::JobVersionsRequest& request, Call& call) {
  v1::JobVersionsResponse response;
  tables_.versions.scan(
      call.view(), kPrimary, of_job(call.query().name_space, request.job_id()),
      [&](v1::Job& job, std::string_view) { return *response.add_versions() = std::move(job), true; });
  if (response.versions().empty()) return not_found("job versions not found");
  if (!request.diffs()) return response;
  DROVER_TRY(const v1::Job* base, base_of(request, response));
  const int count = response.versions_size();
  for (int i = 0; i < (base ? count : count - 1); ++i) {
    *response.add_diffs() = diff_jobs(base ? base : &response.versions(i + 1), &response.versions(i));
  }
  return response;
}

Result<v1::Job> VersionHandlers::version_of(const std::string& job_id, uint64_t version, Call& call) const {
  const std::string& name_space = call.query().name_space;
  if (auto job = tables_.versions.get(call.view(), job_version_key(name_space, job_id, version)))
    return *std::move(job);
  return not_found("job \"" + job_id + "\" in namespace \"" + name_space + "\" at version " + std::to_string(version) +
                   " not found");
}

Result<Write<v1::RegisterJobResponse>> VersionHandlers::revert(const v1::RevertJobRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(check_job_id(request.job_id(), request.path_job_id()));
  const std::string& id = request.job_id();
  const auto current = tables_.jobs.get(call.view(), job_key(call.query().name_space, id));
  if (!current) return not_found("job \"" + id + "\" not found");
  if (request.job_version() == current->version()) return invalid_argument("can't revert to current version");
  DROVER_TRY(v1::Job job, version_of(id, request.job_version(), call));
  DROVER_RETURN_IF_ERROR(may_submit(job, /*overrides_policies=*/false, call));
  DROVER_RETURN_IF_ERROR(check_again(job, *admission_));
  DROVER_RETURN_IF_ERROR(in_known_pool(call.view(), *host_, job));
  if (request.has_enforce_prior_version() && request.enforce_prior_version() != current->version()) {
    return failed_precondition("Current job has version " + std::to_string(current->version()) +
                               "; enforcing version " + std::to_string(request.enforce_prior_version()));
  }
  keep_policy_ids(job, &*current);
  v1::JobRegistered command = registration_of(std::move(job), "job-register", host_->clock().wall_ns());
  command.set_enforce_index(request.has_enforce_prior_version());
  command.set_job_modify_index(request.has_enforce_prior_version() ? current->job_modify_index() : 0);
  if (auto file =
          tables_.submissions.get(call.view(), job_version_key(current->namespace_(), id, request.job_version()))) {
    *command.mutable_submission() = *std::move(file);
  }
  v1::RegisterJobResponse response;
  response.set_eval_id(command.evaluation().id());
  return Write<v1::RegisterJobResponse>(command,
                                        [response](const Applied& applied) { return registered(response, applied); });
}

Result<Write<v1::JobStabilityResponse>> VersionHandlers::stable(const v1::JobStabilityRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(check_job_id(request.job_id(), request.path_job_id()));
  DROVER_RETURN_IF_ERROR(version_of(request.job_id(), request.job_version(), call).status());
  v1::JobStabilityChanged command;
  command.set_namespace_(call.query().name_space);
  command.set_job_id(request.job_id());
  command.set_job_version(request.job_version());
  command.set_stable(request.stable());
  return Write(command, v1::JobStabilityResponse());
}

Result<Write<v1::TagJobVersionResponse>> VersionHandlers::tag(const v1::TagJobVersionRequest& request, Call& call) {
  const std::string& name_space = call.query().name_space;
  uint64_t version = request.version();
  if (request.latest()) {
    const auto job = tables_.jobs.get(call.view(), job_key(name_space, request.job_id()));
    if (!job) return not_found("job \"" + request.job_id() + "\" not found");
    version = job->version();
  }
  v1::JobVersionTagged command;
  command.set_namespace_(name_space);
  command.set_job_id(request.job_id());
  command.set_version(version);
  v1::JobVersionTag& tag = *command.mutable_tag();
  tag.set_name(request.name());
  tag.set_description(request.description());
  tag.set_tagged_time(host_->clock().wall_ns());
  v1::TagJobVersionResponse response;
  response.set_name(tag.name());
  response.set_description(tag.description());
  response.set_tagged_time(tag.tagged_time());
  return Write(command, response);
}

Result<Write<v1::TagJobVersionResponse>> VersionHandlers::untag(const v1::UntagJobVersionRequest& request, Call& call) {
  v1::JobVersionTagged command;
  command.set_namespace_(call.query().name_space);
  command.set_job_id(request.job_id());
  command.mutable_tag()->set_name(request.name());
  command.set_untag(true);
  v1::TagJobVersionResponse response;
  response.set_name(request.name());
  return Write(command, response);
}

}  // namespace drover::jobs
