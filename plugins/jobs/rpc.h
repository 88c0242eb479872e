// The handlers of the Jobs service. Reads are functions of the call's view.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dispatch/rpc.h"
#include "drover/encoded.h"
#include "drover/job_parser.h"
#include "drover/plugin.h"
#include "scaling/rpc.h"
#include "tables.h"
#include "validate.h"
#include "versions/rpc.h"

namespace drover::v1 {
class Allocation;
class DeregisterJobRequest;
class DeregisterJobResponse;
class EvaluateJobRequest;
class JobCounts;
class JobListStub;
class JobRequest;
class JobResponse;
class JobSummary;
class JobSummaryResponse;
class JobSubmissionRequest;
class JobSubmissionResponse;
class ListJobsOfPoolRequest;
class ListJobsRequest;
class ListJobsResponse;
class ParseJobRequest;
class ParseJobResponse;
class PlanJobRequest;
class PlanJobResponse;
class ReconcileSummariesRequest;
class ReconcileSummariesResponse;
class RegisterJobRequest;
class RegisterJobResponse;
class RunPlanRequest;
class SchedulerConfiguration;
class TrialResponse;
class ValidateJobRequest;
class ValidateJobResponse;
class WhatIfRequest;
class WhatIfResponse;
}  // namespace drover::v1

namespace drover::jobs {

// Makes a canonical job ready to be stored: checked, with its implied constraints, without secrets and without what
// only the servers set. Returns the warnings about it. Errors: invalid_argument with all that is wrong.
Result<std::vector<std::string>> accept(v1::Job& job, bool overrides_policies, const Admission& admission);

class Rpc {
 public:
  explicit Rpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  Status start(Host& host, const Priorities& priorities = {}, bool has_vault = false);

 private:
  Result<Encoded<v1::ListJobsResponse>> list(const v1::ListJobsRequest& request, Call& call);
  Result<v1::ListJobsResponse> of_pool(const v1::ListJobsOfPoolRequest& request, Call& call);
  Result<Write<v1::RegisterJobResponse>> register_job(const v1::RegisterJobRequest& request, Call& call);
  Result<v1::ParseJobResponse> parse(const v1::ParseJobRequest& request, Call& call);
  Result<v1::ValidateJobResponse> validate_job(const v1::ValidateJobRequest& request, Call& call);
  Result<v1::JobResponse> get(const v1::JobRequest& request, Call& call);
  Result<Write<v1::DeregisterJobResponse>> deregister(const v1::DeregisterJobRequest& request, Call& call);
  Result<v1::JobSummaryResponse> summary(const v1::JobRequest& request, Call& call);
  Result<v1::RegisterJobResponse> run_plan(const v1::RunPlanRequest& request, Call& call);
  Result<v1::WhatIfResponse> what_if(const v1::WhatIfRequest& request, Call& call);
  Result<v1::PlanJobResponse> plan(const v1::PlanJobRequest& request, Call& call);
  Result<v1::JobSubmissionResponse> submission(const v1::JobSubmissionRequest& request, Call& call);
  Result<Write<v1::ReconcileSummariesResponse>> reconcile_summaries(const v1::ReconcileSummariesRequest& request,
                                                                    Call& call);
  Result<Write<v1::RegisterJobResponse>> evaluate(const v1::EvaluateJobRequest& request, Call& call);
  std::vector<std::string> running_allocs(const v1::Job& job, const ReadView& view) const;
  std::vector<std::string> force_reschedulable(const v1::Job& job, const ReadView& view) const;

  v1::JobListStub stub_at(const Cursor& job, const ReadView& view) const;
  Result<v1::Job> find(const std::string& id, Call& call) const;
  // Makes a client's job ready to be registered or tried. The warnings about it. Errors: invalid_argument.
  Result<std::vector<std::string>> prepare(v1::Job& job, bool overrides_policies, const ReadView& view, Call& call);
  // The row that registering the prepared job now would store.
  v1::Job row_of(v1::Job& job, const std::optional<v1::Job>& existing, const ReadView& view) const;
  // Asks the scheduler for a plan for that row; `refusal` says why it did not. Errors: aborted when the job changed.
  Result<v1::TrialResponse> try_out(const v1::Job& job, uint64_t known_index, Call& call);

  const Tables& tables_;
  Table<v1::JobCounts> counts_;   // the scheduler's
  Table<v1::Allocation> allocs_;  // the scheduler's; invalid where it is not loaded
  Host* host_ = nullptr;
  Admission admission_;
  DispatchHandlers dispatches_{tables_};
  VersionHandlers versions_{tables_};
  ScalingHandlers scaling_{tables_};
};

}  // namespace drover::jobs
