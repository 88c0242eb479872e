// The handlers that answer what would change, and where a job came from.
#include "canonical.h"
#include "diff.h"
#include "drover/keys.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "implied.h"
#include "jobs.pb.h"
#include "plan.pb.h"
#include "rpc.h"
#include "validate.h"

namespace drover::jobs {

std::map<std::string, uint64_t> Rpc::running(const v1::Job& job, const ReadView& view) const {
  std::map<std::string, uint64_t> counts;
  Table<v1::Allocation>(allocs_).scan(view, kAllocsByJob, KeyRange::prefix(job_key(job.namespace_(), job.id())),
                                      [&](v1::Allocation& alloc, std::string_view) {
                                        const bool is_live = alloc.desired_status() == v1::DESIRED_STATUS_RUN &&
                                                             (alloc.client_status() == v1::CLIENT_STATUS_PENDING ||
                                                              alloc.client_status() == v1::CLIENT_STATUS_RUNNING);
                                        if (is_live && alloc.job_create_index() == job.create_index())
                                          ++counts[alloc.task_group()];
                                        return true;
                                      });
  return counts;
}

Result<v1::PlanJobResponse> Rpc::plan(const v1::PlanJobRequest& request, Call& call) {
  if (!request.has_job()) return invalid_argument("Job must be specified");
  v1::Job job = request.job();
  if (job.id().empty()) return invalid_argument("Job ID hasn't been provided");
  if (!request.job_id().empty() && request.job_id() != job.id()) return invalid_argument("Job ID does not match");
  if (job.namespace_().empty()) job.set_namespace_(call.query().name_space);
  canonicalize(job);
  const Findings findings = validate(job);
  if (!findings.errors.empty()) return invalid_argument(as_list(findings.errors));
  add_implied_constraints(job);

  auto view = host_->snapshot();
  auto existing = tables_.jobs.get(*view, job_key(job.namespace_(), job.id()));
  v1::PlanJobResponse response;
  if (existing) response.set_job_modify_index(existing->job_modify_index());
  response.set_warnings(joined(findings.warnings));
  response.set_index(view->index());
  v1::JobDiff diff = diff_jobs(existing ? &*existing : nullptr, &job);
  std::map<std::string, uint64_t> live;
  if (existing) live = running(*existing, *view);
  *response.mutable_annotations() = annotate(diff, job, live);
  if (request.diff()) *response.mutable_diff() = std::move(diff);
  return response;
}

Result<v1::JobSubmissionResponse> Rpc::submission(const v1::JobSubmissionRequest& request, Call& call) {
  DROVER_TRY(v1::Job job, find(request.job_id(), call));
  const uint64_t version = request.has_version() ? request.version() : job.version();
  auto kept = tables_.submissions.get(call.view(), version_key(job.namespace_(), job.id(), version));
  if (!kept) return not_found("job source not found");
  call.set_index(kept->job_modify_index());
  v1::JobSubmissionResponse response;
  *response.mutable_submission() = *std::move(kept);
  return response;
}

}  // namespace drover::jobs
