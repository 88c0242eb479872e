#include "rpc.h"

#include <algorithm>
#include <array>

#include "canonical.h"
#include "destination.h"
#include "diff.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/why.pb.h"
#include "drover/implied_identity.h"
#include "drover/json.h"
#include "drover/message_fields.h"
#include "drover/model/allocation.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/model/listing.h"
#include "drover/model/namespace.h"
#include "drover/scheduler.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job_counts.pb.h"
#include "drover/v1/namespace.pb.h"
#include "implied.h"
#include "jobs.pb.h"
#include "registration.h"
#include "validate.h"

namespace drover::jobs {
namespace {

// The scheduler's numbers for the summary of a job, to be merged into it.
v1::JobSummary counted(uint64_t create_index, uint64_t modify_index, const v1::JobCounts& counts) {
  v1::JobSummary summary;
  auto& groups = *summary.mutable_summary();
  for (const v1::JobCounts::Group& each : counts.groups()) {
    if (each.job_create_index() != create_index) continue;  // of a job that was purged
    v1::TaskGroupSummary& group = groups[each.name()];
    group.set_starting(each.starting());
    group.set_running(each.running());
    group.set_complete(each.complete());
    group.set_failed(each.failed());
    group.set_lost(each.lost());
    group.set_unknown(each.unknown());
  }
  if (counts.queued_index() >= create_index) {
    for (const auto& [group, queued] : counts.queued()) groups[group].set_queued(queued);
  }
  summary.set_modify_index(std::max(modify_index, counts.modify_index()));
  return summary;
}

}  // namespace

Status Rpc::declare(Declarations& declare) {
  std::vector<MethodBinding> methods = {method<&Rpc::list>("List", this),
                                        method<&Rpc::of_pool>("OfPool", this),
                                        method<&Rpc::register_job>("Register", this),
                                        method<&Rpc::parse>("Parse", this),
                                        method<&Rpc::validate_job>("Validate", this),
                                        method<&Rpc::get>("Get", this),
                                        method<&Rpc::deregister>("Deregister", this),
                                        method<&Rpc::summary>("Summary", this),
                                        method<&Rpc::evaluate>("Evaluate", this),
                                        method<&Rpc::plan>("Plan", this),
                                        method<&Rpc::run_plan>("RunPlan", this),
                                        method<&Rpc::submission>("Submission", this),
                                        method<&Rpc::reconcile_summaries>("ReconcileSummaries", this)};
  for (auto more : {dispatches_.methods(), versions_.methods(), scaling_.of_jobs()}) {
    std::ranges::move(more, std::back_inserter(methods));
  }
  DROVER_RETURN_IF_ERROR(declare.service("drover.v1.WhatIfs", {method<&Rpc::what_if>("Run", this)}));
  DROVER_RETURN_IF_ERROR(declare.service("drover.v1.Scaling", scaling_.of_policies()));
  return declare.service("drover.v1.Jobs", std::move(methods));
}

Status Rpc::start(Host& host, const Priorities& priorities, bool has_vault) {
  host_ = &host;
  admission_.priorities = priorities;
  admission_.has_vault = has_vault;
  if (auto types = host.extensions<Scheduler>(); !types.empty()) admission_.scheduled = std::move(types);
  DROVER_TRY(const TableId counts, host.find_table("job_counts"));
  counts_ = Table<v1::JobCounts>(counts);
  if (auto allocs = host.find_table("allocs")) allocs_ = Table<v1::Allocation>(*allocs);
  dispatches_.start(host, priorities.highest);
  admission_.has_check_type = [&host](const std::string& type) { return runs_checks(host, type); };
  admission_.refused_by_namespace = [this](const v1::Job& job) {
    const auto found = find_namespace(*host_->snapshot(), tables_.namespaces, job.namespace_());
    return refused_by(found ? &*found : nullptr, job);
  };
  admission_.implied_identities = [&host](const v1::TaskGroup& group, const v1::Task& task) {
    std::vector<v1::Identity> all;
    for (const std::string& name : host.extensions<ImpliedIdentity>()) {
      if (auto identity = host.extension<ImpliedIdentity>(name)->identity_for(group, task))
        all.push_back(*std::move(identity));
    }
    return all;
  };
  versions_.start(host, admission_);
  scaling_.start(host);
  return ok_status();
}

Result<v1::Job> Rpc::find(const std::string& id, Call& call) const {
  if (auto job = tables_.jobs.get(call.view(), job_key(call.query().name_space, id))) return *std::move(job);
  return not_found("job not found");
}

// Makes the list entry of the job there, without decoding the job.
v1::JobListStub Rpc::stub_at(const Cursor& job, const ReadView& view) const {
  auto kept = tables_.stubs.get(view, job.key());
  v1::JobListStub stub = kept ? *std::move(kept) : stub_of(Table<v1::Job>::parse(job.row()));
  if (const auto counts = counts_.get(view, job.key())) {
    v1::JobSummary& summary = *stub.mutable_job_summary();
    summary.MergeFrom(counted(summary.create_index(), summary.modify_index(), *counts));
  }
  return stub;
}

// A list shows the rows that are kept for it; nothing but their numbers is made here.
Result<Encoded<v1::ListJobsResponse>> Rpc::list(const v1::ListJobsRequest& request, Call& call) {
  using Stub = v1::JobListStub;
  DROVER_TRY(const Listing listing, Listing::by_name(call.query()));
  RowsBeside stubs = listing.beside(call, tables_.stubs.id());
  RowsBeside counts = listing.beside(call, counts_.id());
  Encoded<v1::ListJobsResponse> response;
  std::string stub;
  v1::JobCounts numbers;
  const auto add = [&](const Cursor* job) {
    std::string made;
    auto row = stubs.at(job->key());
    if (!row) row = made = serialize(stub_of(Table<v1::Job>::parse(job->row())));
    stub.clear();
    if (request.meta()) {
      stub = *row;
    } else {
      append_without(stub, *row, Stub::kMetaFieldNumber);
    }
    if (const auto bytes = counts.at(job->key())) {
      numbers.ParseFromArray(bytes->data(), static_cast<int>(bytes->size()));
      const std::string_view summary = bytes_field(*row, Stub::kJobSummaryFieldNumber);
      append_field(stub, Stub::kJobSummaryFieldNumber,
                   counted(number_field(summary, v1::JobSummary::kCreateIndexFieldNumber),
                           number_field(summary, v1::JobSummary::kModifyIndexFieldNumber), numbers)
                       .SerializeAsString());
    }
    response.add(v1::ListJobsResponse::kJobsFieldNumber, stub);
  };
  const auto row = [](const Cursor& job) { return std::optional(&job); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.jobs, row, add));
  return response;
}

Result<v1::ListJobsResponse> Rpc::of_pool(const v1::ListJobsOfPoolRequest& request, Call& call) {
  if (!has_pool(call.view(), *host_, request.name())) return not_found("node pool not found");
  DROVER_TRY(const Listing listing, Listing::by_name(call.query()));
  v1::ListJobsResponse response;
  const auto stub_of_row = [&](const Cursor& job) -> std::optional<v1::JobListStub> {
    v1::JobListStub stub = stub_at(job, call.view());
    if (stub.node_pool() != request.name()) return std::nullopt;
    stub.clear_meta();
    return stub;
  };
  const auto add = [&](v1::JobListStub&& stub) { *response.add_jobs() = std::move(stub); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.jobs, stub_of_row, add));
  call.set_index(call.view().table_index(tables_.jobs.id()));
  return response;
}

namespace {

// Clears the fields that only the servers set, whatever a client sends: also those that it read of an earlier version.
// Status and numbers are as_registered's.
void clear_servers_fields(v1::Job& job) {
  job.set_stop(false);
  job.set_stable(false);
  job.set_parent_id("");
  job.clear_dispatched();
  job.clear_dispatch_idempotency_token();
  job.set_nomad_token_id("");
  job.set_status_description("");
  job.clear_version_tag();
}

}  // namespace

Result<std::vector<std::string>> accept(v1::Job& job, bool overrides_policies, const Admission& admission) {
  Findings findings = validate(job, admission);
  if (!findings.errors.empty()) return invalid_argument(as_list(findings.errors));
  if (overrides_policies) {
    findings.warnings.emplace_back("policy override has no effect: this version has no policies to override");
  }
  if (admission.implied_identities) add_implied_identities(job, admission.implied_identities);
  add_implied_constraints(job);
  clear_servers_fields(job);
  job.set_consul_token("");
  job.set_vault_token("");
  return std::move(findings.warnings);
}

Result<Write<v1::RegisterJobResponse>> Rpc::register_job(const v1::RegisterJobRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(may_register(call, call.view(), *host_));
  if (!request.has_job()) return invalid_argument("Job must be specified");
  v1::Job job = request.job();
  if (job.id().empty()) return invalid_argument("Job ID hasn't been provided");
  if (!request.job_id().empty() && request.job_id() != job.id()) return invalid_argument("Job ID does not match name");
  DROVER_RETURN_IF_ERROR(resolve_destination(job, call.query(), host_->agent().region));
  DROVER_RETURN_IF_ERROR(may_submit(job, request.policy_override(), call));
  if (request.eval_priority() < 0 || request.eval_priority() > 100)
    return invalid_argument("eval priority must be between 1 and 100 inclusively");
  canonicalize(job, admission_.priorities);
  const auto existing = tables_.jobs.get(call.view(), job_key(job.namespace_(), job.id()));
  if (request.preserve_counts() && existing && !existing->stop()) {
    for (v1::TaskGroup& group : *job.mutable_task_groups()) {
      if (const v1::TaskGroup* old = find_group(*existing, group.name())) group.set_count(old->count());
    }
  }
  DROVER_TRY(std::vector<std::string> warnings, accept(job, request.policy_override(), admission_));
  DROVER_RETURN_IF_ERROR(in_known_pool(call.view(), *host_, job));
  keep_policy_ids(job, existing ? &*existing : nullptr);

  v1::JobRegistered command =
      registration_of(std::move(job), "job-register", host_->clock().wall_ns(), request.eval_priority());
  command.set_enforce_index(request.enforce_index());
  command.set_job_modify_index(request.job_modify_index());
  keep_submission(request.submission(), command, warnings);
  v1::RegisterJobResponse response;
  response.set_eval_id(command.evaluation().id());
  response.set_warnings(joined(warnings));
  return Write<v1::RegisterJobResponse>(command,
                                        [response](const Applied& applied) { return registered(response, applied); });
}

Result<v1::ParseJobResponse> Rpc::parse(const v1::ParseJobRequest& request, Call&) {
  if (request.job_hcl().empty()) return invalid_argument("Job spec is empty");
  if (request.hclv1())
    return invalid_argument("hclv1: the first version of the job language is not supported; leave it out");
  auto* parser = host_->extension<JobParser>("hcl");
  if (!parser) return failed_precondition("no job parser is loaded; enable the plugin jobspec");
  // Variables: the text of a variable file. File functions are off: the file is not from this machine.
  JobParser::Options options{.file_name = "job.hcl"};
  if (!request.variables().empty()) {
    options.variables.push_back({JobParser::Assignment::Source::file, "Variables", request.variables()});
  }
  DROVER_TRY(JobParser::Parsed parsed, parser->parse(request.job_hcl(), options));
  std::string json = std::move(parsed.json);
  v1::ParseJobResponse response;
  if (request.canonicalize()) {
    v1::Job job;
    DROVER_RETURN_IF_ERROR(json_to_message(json, job));
    fill_in_for_clients(job);
    json = message_to_json(job);
  }
  response.set_job(std::move(json));
  return response;
}

Result<v1::ValidateJobResponse> Rpc::validate_job(const v1::ValidateJobRequest& request, Call& call) {
  if (!request.has_job()) return invalid_argument("Job must be specified");
  v1::Job job = request.job();
  DROVER_RETURN_IF_ERROR(resolve_destination(job, call.query(), host_->agent().region));
  DROVER_RETURN_IF_ERROR(call.require(job.namespace_()));
  canonicalize(job, admission_.priorities);
  Findings findings = validate(job, admission_);
  v1::ValidateJobResponse response;
  response.set_driver_config_validated(true);  // to clients: a server has answered, as in Nomad
  for (const std::string& error : findings.errors) response.add_validation_errors(error);
  if (!findings.errors.empty()) response.set_error(as_list(findings.errors));
  response.set_warnings(joined(findings.warnings));
  return response;
}

Result<v1::JobResponse> Rpc::get(const v1::JobRequest& request, Call& call) {
  DROVER_TRY(v1::Job job, find(request.job_id(), call));
  call.set_index(job.modify_index());
  v1::JobResponse response;
  *response.mutable_job() = std::move(job);
  return response;
}

Result<Write<v1::DeregisterJobResponse>> Rpc::deregister(const v1::DeregisterJobRequest& request, Call& call) {
  if (request.global()) return invalid_argument("global: several regions are not supported by this version of drover");
  const std::string name_space = call.query().name_space;
  auto job = tables_.jobs.get(call.view(), job_key(name_space, request.job_id()));
  v1::DeregisterJobResponse response;
  if (!job) {  // is gone already, as was asked
    call.set_index(call.view().index());
    return Write(response);
  }
  v1::JobDeregistered command;
  command.set_namespace_(name_space);
  command.set_job_id(request.job_id());
  command.set_purge(request.purge());
  command.set_time(host_->clock().wall_ns());
  if (request.no_shutdown_delay()) {
    for (std::string& id : running_allocs(*job, call.view())) command.mutable_transition()->add_alloc_ids(std::move(id));
    if (command.has_transition()) {
      command.mutable_transition()->mutable_transition()->set_no_shutdown_delay(true);
      command.mutable_transition()->set_time(command.time());
    }
  }
  // A job that only starts children has nothing of its own that would stop.
  if (!starts_children(*job)) {
    *command.mutable_evaluation() = new_evaluation(Uuid::random().bytes(), *job, "job-deregister");
    if (request.eval_priority() > 0) command.mutable_evaluation()->set_priority(request.eval_priority());
  }
  response.set_eval_id(command.evaluation().id());
  return Write<v1::DeregisterJobResponse>(command, [response](const Applied& applied) mutable {
    if (!response.eval_id().empty()) response.set_eval_create_index(applied.index);
    response.set_job_modify_index(applied.index);
    return response;
  });
}

Result<Write<v1::ReconcileSummariesResponse>> Rpc::reconcile_summaries(const v1::ReconcileSummariesRequest&, Call&) {
  v1::JobsRecounted command;
  command.set_time(host_->clock().wall_ns());
  return Write<v1::ReconcileSummariesResponse>(command, v1::ReconcileSummariesResponse());
}

Result<v1::JobSummaryResponse> Rpc::summary(const v1::JobRequest& request, Call& call) {
  const KeyRange key = KeyRange::exactly(job_key(call.query().name_space, request.job_id()));
  const auto job = call.view().scan(tables_.jobs.id(), kPrimary, key);
  if (!job->valid()) return not_found("job not found");
  v1::JobListStub stub = stub_at(*job, call.view());
  v1::JobSummaryResponse response;
  response.mutable_summary()->Swap(stub.mutable_job_summary());
  return response;
}

std::vector<std::string> Rpc::running_allocs(const v1::Job& job, const ReadView& view) const {
  std::vector<std::string> ids;
  if (!allocs_.id().valid()) return ids;
  allocs_.scan(view, kAllocsByJob, of_job(job.namespace_(), job.id()), [&](v1::Allocation& alloc, std::string_view) {
    if (!terminal(alloc)) ids.push_back(alloc.id());
    return true;
  });
  return ids;
}

// Allocations that failed for good and may be replaced nevertheless.
std::vector<std::string> Rpc::force_reschedulable(const v1::Job& job, const ReadView& view) const {
  std::vector<std::string> ids;
  if (!allocs_.id().valid()) return ids;
  allocs_.scan(view, kAllocsByJob, of_job(job.namespace_(), job.id()), [&](v1::Allocation& alloc, std::string_view) {
    const v1::TaskGroup* group = find_group(job, alloc.task_group());
    const bool may = group && (group->reschedule_policy().attempts() > 0 || group->reschedule_policy().unlimited());
    if (may && alloc.client_status() == v1::CLIENT_STATUS_FAILED && alloc.next_allocation().empty() &&
        !alloc.desired_transition().force_reschedule()) {
      ids.push_back(alloc.id());
    }
    return true;
  });
  return ids;
}

Result<Write<v1::RegisterJobResponse>> Rpc::evaluate(const v1::EvaluateJobRequest& request, Call& call) {
  if (!request.job_id().empty() && request.job_id() != request.path_job_id()) {
    return invalid_argument("JobID not same as job name");
  }
  DROVER_TRY(const v1::Job job, find(request.path_job_id(), call));
  DROVER_RETURN_IF_ERROR(in_known_namespace(call.view(), tables_, job));
  if (is_periodic(job)) return invalid_argument("can't evaluate periodic job");
  if (is_parameterized(job)) return invalid_argument("can't evaluate parameterized job");
  const v1::Evaluation eval = new_evaluation(Uuid::random().bytes(), job, "job-register");
  v1::RegisterJobResponse response;
  response.set_eval_id(eval.id());
  response.set_job_modify_index(job.job_modify_index());
  const auto answer = [response](const Applied& applied) mutable {
    response.set_eval_create_index(applied.index);
    return response;
  };
  const auto forced =
      request.eval_options().force_reschedule() ? force_reschedulable(job, call.view()) : std::vector<std::string>();
  if (forced.empty()) {
    v1::EvalsUpdated command;
    *command.add_evaluations() = eval;
    command.set_time(host_->clock().wall_ns());
    return Write<v1::RegisterJobResponse>(command, answer);
  }
  v1::AllocationsTransitioned command;
  for (const std::string& id : forced) command.add_alloc_ids(id);
  command.mutable_transition()->set_force_reschedule(true);
  *command.add_evaluations() = eval;
  command.set_time(host_->clock().wall_ns());
  return Write<v1::RegisterJobResponse>(command, answer);
}

}  // namespace drover::jobs
