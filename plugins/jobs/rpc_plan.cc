// The handlers that answer what would change, and where a job came from.
#include <optional>
#include <utility>
#include <vector>

#include "canonical.h"
#include "destination.h"
#include "diff.h"
#include "drover/allocation_stub.h"
#include "drover/api/allocations.pb.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/plan.pb.h"
#include "drover/api/why.pb.h"
#include "drover/model/job.h"
#include "drover/model/periodic.h"
#include "drover/schema.h"
#include "drover/v1/trial.pb.h"
#include "registration.h"
#include "rpc.h"
#include "validate.h"

namespace drover::jobs {

namespace {

// A job may change between the look at it and the trial; then both are done again.
constexpr int kAttempts = 3;

Status names_one_job(const auto& request) {
  if (!request.has_job()) return invalid_argument("Job must be specified");
  if (request.job().id().empty()) return invalid_argument("Job ID hasn't been provided");
  if (!request.job_id().empty() && request.job_id() != request.job().id()) {
    return invalid_argument("Job ID does not match");
  }
  return ok_status();
}

// Allocations that make room, and the evaluations of their jobs, as far as the caller may read their namespaces.
void name_preempted(v1::TrialResponse& trial, const Table<v1::Job>& jobs, const ReadView& view, const Call& call,
                    v1::PlanJobResponse& response) {
  const auto may_read = [&](const std::string& name_space) {
    return call.permissions().may(Access::READ_JOB, name_space);
  };
  v1::PlanAnnotations& annotations = *response.mutable_annotations();
  for (const v1::Allocation& alloc : trial.preempted()) {
    if (!may_read(alloc.namespace_())) {
      annotations.set_unnamed_preemptions(annotations.unnamed_preemptions() + 1);
      continue;
    }
    const auto job = jobs.get(view, job_key(alloc.namespace_(), alloc.job_id()));
    *annotations.add_preempted_allocs() = drover::stub_of(alloc, job ? job->type() : "");
  }
  for (v1::Evaluation& eval : *trial.mutable_created_evals()) {
    if (eval.triggered_by() != "preemption" || may_read(eval.namespace_()))
      response.add_created_evals()->Swap(&eval);
  }
}

}  // namespace

Result<v1::TrialResponse> Rpc::try_out(const v1::Job& job, uint64_t known_index, Call& call) {
  v1::TrialRequest request;
  *request.mutable_job() = job;
  request.set_known_index(known_index);
  CallContext context = call.context();
  context.method = "/drover.v1.Trials/Run";
  context.from_server = true;
  context.query.name_space = job.namespace_();
  auto response = drover::call<v1::TrialResponse>(host_->caller(), std::move(context), request);
  if (response || response.status().code() != Code::unimplemented) return response;
  v1::TrialResponse none;
  none.set_refusal("the plugin scheduler is not loaded on the leading server");
  return none;
}

Result<v1::PlanJobResponse> Rpc::plan(const v1::PlanJobRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(names_one_job(request));
  v1::Job job = request.job();
  std::shared_ptr<const ReadView> view = host_->snapshot();
  DROVER_TRY(std::vector<std::string> warnings, prepare(job, request.policy_override(), *view, call));
  std::optional<v1::Job> existing;
  Result<v1::TrialResponse> trial = aborted("");
  for (int attempt = 0; attempt < kAttempts && trial.status().code() == Code::aborted; ++attempt) {
    view = host_->snapshot();
    existing = tables_.jobs.get(*view, job_key(job.namespace_(), job.id()));
    trial = try_out(row_of(job, existing, *view), existing ? existing->job_modify_index() : 0, call);
  }
  if (!trial) return trial.status();

  v1::PlanJobResponse response;
  if (is_periodic(job)) {
    DROVER_TRY(const auto next, next_launch(job.periodic(), host_->clock().wall_ns()));
    response.set_next_periodic_launch(next.value_or(0));
  }
  if (existing) response.set_job_modify_index(existing->job_modify_index());
  call.set_index(view->index());
  v1::JobDiff diff = diff_jobs(existing ? &*existing : nullptr, &job);
  if (trial->refusal().empty()) {
    annotate(diff, *trial);
    auto& updates = *response.mutable_annotations()->mutable_desired_tg_updates();
    for (const auto& [name, group] : trial->groups()) updates[name] = group.updates();
    response.mutable_failed_tg_allocs()->swap(*trial->mutable_failed_tg_allocs());
    name_preempted(*trial, tables_.jobs, *view, call, response);
    if (request.exact()) {
      v1::ExactPlan& exact = *response.mutable_exact();
      exact.set_eval_id(trial->eval_id());
      exact.set_job_modify_index(response.job_modify_index());
      exact.mutable_changes()->Swap(trial->mutable_changes());
    }
  } else {
    warnings.push_back("the plan compares only, nothing was placed: " + trial->refusal());
  }
  response.set_warnings(joined(warnings));
  if (request.diff()) *response.mutable_diff() = std::move(diff);
  return response;
}

Result<std::vector<std::string>> Rpc::prepare(v1::Job& job, bool overrides_policies, const ReadView& view,
                                              Call& call) {
  if (job.id().empty()) return invalid_argument("Job ID hasn't been provided");
  DROVER_RETURN_IF_ERROR(resolve_destination(job, call.query(), host_->agent().region));
  DROVER_RETURN_IF_ERROR(may_submit(job, overrides_policies, call));
  canonicalize(job, admission_.priorities);
  DROVER_TRY(std::vector<std::string> warnings, accept(job, overrides_policies, admission_));
  DROVER_RETURN_IF_ERROR(in_known_pool(view, *host_, job));
  return warnings;
}

v1::Job Rpc::row_of(v1::Job& job, const std::optional<v1::Job>& existing, const ReadView& view) const {
  keep_policy_ids(job, existing ? &*existing : nullptr);
  return as_registered(job, existing ? &*existing : nullptr, view.index() + 1, host_->clock().wall_ns());
}

Result<v1::RegisterJobResponse> Rpc::run_plan(const v1::RunPlanRequest& request, Call& call) {
  const auto view = host_->snapshot();
  DROVER_RETURN_IF_ERROR(may_register(call, *view, *host_));
  DROVER_RETURN_IF_ERROR(names_one_job(request));
  v1::Job job = request.job();
  DROVER_TRY(std::vector<std::string> warnings, prepare(job, request.policy_override(), *view, call));
  if (!request.has_plan()) return invalid_argument("a plan must be specified; `job plan -out` writes one");
  if (starts_children(job)) return invalid_argument("a job that only starts children has no plan");
  const auto existing = tables_.jobs.get(*view, job_key(job.namespace_(), job.id()));
  if ((existing ? existing->job_modify_index() : 0) != request.plan().job_modify_index()) {
    return aborted("job \"" + job.id() + "\" has changed since it was planned");
  }

  v1::ExactRunRequest run;
  *run.mutable_job() = row_of(job, existing, *view);
  *run.mutable_registration() = registration_of(std::move(job), "job-register", host_->clock().wall_ns());
  run.mutable_registration()->set_job_modify_index(request.plan().job_modify_index());
  keep_submission(request.submission(), *run.mutable_registration(), warnings);
  run.set_eval_id(request.plan().eval_id());
  *run.mutable_changes() = request.plan().changes();
  CallContext context = call.context();
  context.method = "/drover.v1.Trials/Apply";
  context.from_server = true;
  context.query.name_space = run.job().namespace_();
  DROVER_TRY(const auto done, drover::call<v1::ExactRunResponse>(host_->caller(), std::move(context), run));
  v1::RegisterJobResponse response;
  response.set_eval_id(run.eval_id());
  response.set_eval_create_index(done.index());
  response.set_job_modify_index(done.job_modify_index());
  response.set_warnings(joined(warnings));
  call.set_index(done.index());
  return response;
}

Result<v1::WhatIfResponse> Rpc::what_if(const v1::WhatIfRequest& request, Call& call) {
  const auto view = host_->snapshot();
  v1::WhatIfRequest prepared = request;
  for (v1::Job& job : *prepared.mutable_jobs()) {
    DROVER_RETURN_IF_ERROR(prepare(job, /*overrides_policies=*/false, *view, call).status());
    job = row_of(job, tables_.jobs.get(*view, job_key(job.namespace_(), job.id())), *view);
  }
  CallContext context = call.context();
  context.method = "/drover.v1.WhatIfTrials/Run";
  context.from_server = true;
  return drover::call<v1::WhatIfResponse>(host_->caller(), std::move(context), prepared);
}

Result<v1::JobSubmissionResponse> Rpc::submission(const v1::JobSubmissionRequest& request, Call& call) {
  DROVER_TRY(v1::Job job, find(request.job_id(), call));
  const uint64_t version = request.has_version() ? request.version() : job.version();
  auto kept = tables_.submissions.get(call.view(), job_version_key(job.namespace_(), job.id(), version));
  if (!kept) return not_found("job source not found");
  call.set_index(kept->job_modify_index());
  v1::JobSubmissionResponse response;
  *response.mutable_submission() = *std::move(kept);
  return response;
}

}  // namespace drover::jobs
