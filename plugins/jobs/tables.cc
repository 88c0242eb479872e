#include "tables.h"

#include "drover/api/jobs.pb.h"
#include "drover/model/job.h"
#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "jobs.pb.h"
#include "validate.h"

namespace drover::jobs {
namespace {

using Bytes = std::string_view;

v1::JobStatus status_of(const v1::Job& job, const v1::JobStatusChanged& now) {
  const bool parent = job.has_periodic() || job.has_parameterized_job();
  if (job.type() == "system" || parent) return job.stop() ? v1::JOB_STATUS_DEAD : v1::JOB_STATUS_RUNNING;
  if (now.has_live_allocs()) return v1::JOB_STATUS_RUNNING;
  if (now.has_open_evals()) return v1::JOB_STATUS_PENDING;
  return now.has_any() ? v1::JOB_STATUS_DEAD : v1::JOB_STATUS_PENDING;
}

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> registered(const v1::JobRegistered& command, ApplyContext& context) const {
    v1::Job job = command.job();
    const std::string key = job_key(job.namespace_(), job.id());
    auto existing = tables_.jobs.get(context.rows(), key);
    if (command.enforce_index()) {
      const uint64_t current = existing ? existing->job_modify_index() : 0;
      if (current != command.job_modify_index()) {
        const std::string wanted = "Enforcing job modify index " + std::to_string(command.job_modify_index());
        if (!existing) return failed_precondition(wanted + ": job does not exist");
        if (command.job_modify_index() == 0) return failed_precondition(wanted + ": job already exists");
        return failed_precondition(wanted +
                                   ": job exists with conflicting job modify index: " + std::to_string(current));
      }
    }
    if (existing) DROVER_RETURN_IF_ERROR(check_update(*existing, job));
    job = as_registered(std::move(job), existing ? &*existing : nullptr, context.index(), command.time());
    DROVER_RETURN_IF_ERROR(put(job, context));
    if (command.has_submission()) {
      v1::JobSubmission submission = command.submission();
      submission.set_namespace_(job.namespace_());
      submission.set_job_id(job.id());
      submission.set_version(job.version());
      submission.set_job_modify_index(job.job_modify_index());
      DROVER_RETURN_IF_ERROR(tables_.submissions.put(context.rows(), submission));
    }
    if (command.has_evaluation()) {
      v1::EvalsUpdated evals;
      *evals.add_evaluations() = command.evaluation();
      evals.mutable_evaluations(0)->set_job_modify_index(job.job_modify_index());
      evals.set_time(command.time());
      DROVER_RETURN_IF_ERROR(also(context, evals));
    }
    v1::JobRegisteredAnswer answer;
    answer.set_job_modify_index(job.job_modify_index());
    return answer.SerializeAsString();
  }

  Result<std::string> deregistered(const v1::JobDeregistered& command, ApplyContext& context) const {
    const std::string key = job_key(command.namespace_(), command.job_id());
    auto job = tables_.jobs.get(context.rows(), key);
    if (!job) return not_found("job not found");
    if (command.purge()) {
      erase(command.namespace_(), command.job_id(), context);
    } else {
      job->set_stop(true);
      job->set_modify_index(context.index());
      job->set_job_modify_index(context.index());
      job->set_version(job->version() + 1);
      job->set_stable(false);
      job->clear_version_tag();  // stays with the version that has it
      job->set_submit_time(command.time());
      DROVER_RETURN_IF_ERROR(put(*job, context));
    }
    v1::JobRegisteredAnswer answer;
    answer.set_job_modify_index(context.index());
    if (command.has_evaluation()) {
      v1::EvalsUpdated evals;
      *evals.add_evaluations() = command.evaluation();
      evals.mutable_evaluations(0)->set_job_modify_index(context.index());
      evals.set_time(command.time());
      DROVER_RETURN_IF_ERROR(also(context, evals));
    }
    return answer.SerializeAsString();
  }

  Result<std::string> deleted(const v1::JobsDeleted& command, ApplyContext& context) const {
    for (const auto& name : command.jobs()) erase(name.namespace_(), name.id(), context);
    return std::string();
  }

  // A version that is gone has nothing to mark.
  Result<std::string> stability_changed(const v1::JobStabilityChanged& command, ApplyContext& context) const {
    const std::string key = job_version_key(command.namespace_(), command.job_id(), command.job_version());
    auto version = tables_.versions.get(context.rows(), key);
    if (!version || version->stable() == command.stable()) return std::string();
    auto job = tables_.jobs.get(context.rows(), job_key(command.namespace_(), command.job_id()));
    version->set_stable(command.stable());
    version->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(tables_.versions.put(context.rows(), *version));
    if (!job || job->version() != command.job_version()) return std::string();
    job->set_stable(command.stable());
    job->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(put_current(*job, context.rows()));
    return std::string();
  }

  Result<std::string> status_changed(const v1::JobStatusChanged& command, ApplyContext& context) const {
    const std::string key = job_key(command.namespace_(), command.job_id());
    auto job = tables_.jobs.get(context.rows(), key);
    if (!job) return std::string();
    const v1::JobStatus status = status_of(*job, command);
    if (status == job->status()) return std::string();
    job->set_status(status);
    job->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(put_current(*job, context.rows()));
    return std::string();
  }

 private:
  Status put_current(const v1::Job& job, WriteTransaction& rows) const {
    DROVER_RETURN_IF_ERROR(tables_.jobs.put(rows, job));
    return tables_.stubs.put(rows, stub_of(job));
  }
  // The job and its version; versions that need not be kept go.
  Status put(const v1::Job& job, ApplyContext& context) const {
    WriteTransaction& rows = context.rows();
    DROVER_RETURN_IF_ERROR(put_current(job, rows));
    DROVER_RETURN_IF_ERROR(tables_.versions.put(rows, job));
    std::vector<KeptVersion> kept;
    tables_.versions.scan(rows, kPrimary, of_job(job.namespace_(), job.id()), [&](v1::Job& each, std::string_view key) {
      kept.push_back({std::string(key), each.stable(), each.has_version_tag()});
      return true;
    });
    for (const std::string& key : superfluous(kept)) {
      tables_.versions.erase(rows, key);
      tables_.submissions.erase(rows, key);
    }
    return ok_status();
  }
  void erase(std::string_view name_space, std::string_view id, ApplyContext& context) const {
    WriteTransaction& rows = context.rows();
    tables_.jobs.erase(rows, job_key(name_space, id));
    tables_.stubs.erase(rows, job_key(name_space, id));
    std::vector<std::string> keys;
    for (auto cursor = rows.scan(tables_.versions.id(), kPrimary, of_job(name_space, id)); cursor->valid();
         cursor->next()) {
      keys.emplace_back(cursor->key());
    }
    for (const std::string& key : keys) {
      tables_.versions.erase(rows, key);
      tables_.submissions.erase(rows, key);
    }
  }

  const Tables tables_;
};

}  // namespace

std::vector<std::string> superfluous(const std::vector<KeptVersion>& newest_first) {
  std::vector<std::string> going;
  uint64_t seen = 0;
  bool has_stable = false;
  for (const KeptVersion& version : newest_first) {
    if (version.tagged) continue;
    const bool newest_stable = version.stable && !has_stable;
    has_stable = has_stable || version.stable;
    if (++seen > kTrackedVersions && !newest_stable) going.push_back(version.key);
  }
  return going;
}

v1::JobListStub stub_of(const v1::Job& job) {
  v1::JobListStub stub;
  stub.set_id(job.id());
  stub.set_parent_id(job.parent_id());
  stub.set_name(job.name());
  stub.set_namespace_(job.namespace_());
  *stub.mutable_datacenters() = job.datacenters();
  stub.set_node_pool(job.node_pool());
  stub.set_type(job.type());
  stub.set_priority(job.priority());
  stub.set_periodic(job.has_periodic());
  stub.set_parameterized_job(job.has_parameterized_job());
  stub.set_stop(job.stop());
  stub.set_status(job.status());
  stub.set_status_description(job.status_description());
  stub.set_create_index(job.create_index());
  stub.set_modify_index(job.modify_index());
  stub.set_job_modify_index(job.job_modify_index());
  stub.set_submit_time(job.submit_time());
  *stub.mutable_meta() = job.meta();
  if (job.has_multiregion()) *stub.mutable_multiregion() = job.multiregion();
  v1::JobSummary& summary = *stub.mutable_job_summary();
  summary.set_job_id(job.id());
  summary.set_namespace_(job.namespace_());
  summary.mutable_children();
  for (const v1::TaskGroup& group : job.task_groups()) (*summary.mutable_summary())[group.name()];
  summary.set_create_index(job.create_index());
  summary.set_modify_index(job.modify_index());
  return stub;
}

v1::Job as_registered(v1::Job job, const v1::Job* existing, uint64_t index, int64_t time) {
  // The same description again: no new version, but the scheduler looks once more.
  if (existing && specification(*existing) == specification(job)) {
    job = *existing;
  } else {
    job.set_status(existing ? existing->status() : v1::JOB_STATUS_PENDING);
    job.set_submit_time(time);
    job.set_create_index(existing ? existing->create_index() : index);
    job.set_version(existing ? existing->version() + 1 : 0);
  }
  job.set_modify_index(index);
  job.set_job_modify_index(index);
  return job;
}

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_TRY(tables.jobs, declare_table(declare, jobs_table()));
  DROVER_TRY(tables.versions, declare_table(declare, job_versions_table()));
  DROVER_TRY(tables.submissions,
             declare.table<v1::JobSubmission>("job_submissions", {}, [](const v1::JobSubmission& each, RowKeys& keys) {
               keys.primary(job_version_key(each.namespace_(), each.job_id(), each.version()));
             }));
  DROVER_TRY(tables.stubs,
             declare.table<v1::JobListStub>("job_stubs", {}, [](const v1::JobListStub& stub, RowKeys& keys) {
               keys.primary(job_key(stub.namespace_(), stub.id()));
             }));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::registered>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::deregistered>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::deleted>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::stability_changed>(commands));
  return declare.command<&Commands::status_changed>(commands);
}

}  // namespace drover::jobs
