#include "tables.h"

#include "destination.h"
#include "drover/api/jobs.pb.h"
#include "drover/model/job.h"
#include "drover/model/namespace.h"
#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "jobs.pb.h"
#include "validate.h"

namespace drover::jobs {
namespace {

using Bytes = std::string_view;

// Runs until it is stopped, whatever there is of it.
bool runs_until_stopped(const v1::Job& job) { return job.type() == "system" || starts_children(job); }

v1::JobStatus status_of(const v1::Job& job, const v1::JobStatusChanged& now) {
  if (runs_until_stopped(job)) return job.stop() ? v1::JOB_STATUS_DEAD : v1::JOB_STATUS_RUNNING;
  if (now.has_live_allocs()) return v1::JOB_STATUS_RUNNING;
  if (now.has_open_evals()) return v1::JOB_STATUS_PENDING;
  // Dead it stays when what it had is forgotten.
  return now.has_any() || job.status() == v1::JOB_STATUS_DEAD ? v1::JOB_STATUS_DEAD : v1::JOB_STATUS_PENDING;
}

void count_child(v1::JobChildrenSummary& children, v1::JobStatus status, int64_t change) {
  if (status == v1::JOB_STATUS_DEAD) {
    children.set_dead(children.dead() + change);
  } else if (status == v1::JOB_STATUS_RUNNING) {
    children.set_running(children.running() + change);
  } else {
    children.set_pending(children.pending() + change);
  }
}

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> registered(const v1::JobRegistered& command, ApplyContext& context) const {
    v1::Job job = command.job();
    DROVER_RETURN_IF_ERROR(in_known_namespace(context.rows(), tables_, job));
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
    if (!existing && !job.parent_id().empty()) DROVER_RETURN_IF_ERROR(check_parent(job, context.rows()));
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
      DROVER_RETURN_IF_ERROR(erase(command.namespace_(), command.job_id(), context));
    } else {
      job->set_stop(true);
      job->set_modify_index(context.index());
      job->set_job_modify_index(context.index());
      job->set_version(job->version() + 1);
      job->set_stable(false);
      job->clear_version_tag();  // stays with the version that has it
      job->set_submit_time(command.time());
      if (runs_until_stopped(*job)) job->set_status(v1::JOB_STATUS_DEAD);
      DROVER_RETURN_IF_ERROR(put(*job, context));
    }
    v1::JobRegisteredAnswer answer;
    answer.set_job_modify_index(context.index());
    if (command.has_transition()) DROVER_RETURN_IF_ERROR(also(context, command.transition()));
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
    for (const auto& name : command.jobs()) DROVER_RETURN_IF_ERROR(erase(name.namespace_(), name.id(), context));
    return std::string();
  }

  // A version that is gone has nothing to mark.
  Result<std::string> stability_changed(const v1::JobStabilityChanged& command, ApplyContext& context) const {
    const std::string key = job_version_key(command.namespace_(), command.job_id(), command.job_version());
    auto version = tables_.versions.get(context.rows(), key);
    if (!version || version->stable() == command.stable()) return std::string();
    version->set_stable(command.stable());
    return put_version(*std::move(version), context);
  }

  // A child that was dispatched with the same token stands for the new one.
  Result<std::string> dispatched(const v1::JobDispatched& command, ApplyContext& context) const {
    const v1::Job& child = command.child().job();
    v1::JobDispatchedAnswer answer;
    std::string id = child.id();
    if (!child.dispatch_idempotency_token().empty()) {
      const KeyRange same =
          of_dispatch_token(child.namespace_(), child.parent_id(), child.dispatch_idempotency_token());
      tables_.jobs.scan(context.rows(), kJobsByDispatchToken, same, [&](v1::Job& earlier, std::string_view) {
        id = earlier.id();
        answer.set_existed(true);
        return false;
      });
    }
    if (!answer.existed()) DROVER_RETURN_IF_ERROR(registered(command.child(), context).status());
    const auto job = tables_.jobs.get(context.rows(), job_key(child.namespace_(), id));
    answer.set_job_id(id);
    answer.set_job_create_index(job->create_index());
    answer.set_job_modify_index(job->job_modify_index());
    return answer.SerializeAsString();
  }

  // A name belongs to one version of a job.
  Result<std::string> tagged(const v1::JobVersionTagged& command, ApplyContext& context) const {
    std::optional<v1::Job> owner, wanted;
    tables_.versions.scan(context.rows(), kPrimary, of_job(command.namespace_(), command.job_id()),
                          [&](v1::Job& version, std::string_view) {
                            if (version.has_version_tag() && version.version_tag().name() == command.tag().name())
                              owner = version;
                            if (version.version() == command.version()) wanted = version;
                            return true;
                          });
    const std::string of_the_job = "job \"" + command.job_id() + "\"";
    if (command.untag()) {
      if (!owner) return not_found("tag \"" + command.tag().name() + "\" not found on " + of_the_job);
      owner->clear_version_tag();
      return put_version(*owner, context);
    }
    if (!wanted) return not_found(of_the_job + " version " + std::to_string(command.version()) + " not found");
    if (owner && owner->version() != wanted->version()) {
      return failed_precondition("tag \"" + command.tag().name() + "\" already exists on a different version of " +
                                 of_the_job);
    }
    *wanted->mutable_version_tag() = command.tag();
    return put_version(*wanted, context);
  }

  Result<std::string> scaled(const v1::JobScaled& command, ApplyContext& context) const {
    const std::string key = job_key(command.namespace_(), command.job_id());
    if (command.has_registration()) DROVER_RETURN_IF_ERROR(registered(command.registration(), context).status());
    const auto job = tables_.jobs.get(context.rows(), key);
    if (!job) return not_found("job \"" + command.job_id() + "\" not found");
    DROVER_RETURN_IF_ERROR(tables_.scaling.write_down(*job, command.group(), command.event(), context));
    v1::JobRegisteredAnswer answer;
    answer.set_job_modify_index(job->job_modify_index());
    return answer.SerializeAsString();
  }

  Result<std::string> status_changed(const v1::JobStatusChanged& command, ApplyContext& context) const {
    const std::string key = job_key(command.namespace_(), command.job_id());
    auto job = tables_.jobs.get(context.rows(), key);
    if (!job) return std::string();
    const v1::JobStatus status = status_of(*job, command);
    if (status == job->status()) return std::string();
    job->set_status(status);
    job->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(put_current(*job, context));
    return std::string();
  }

 private:
  // A child begins only while its parent starts children.
  Status check_parent(const v1::Job& child, const ReadView& rows) const {
    const auto parent = tables_.jobs.get(rows, job_key(child.namespace_(), child.parent_id()));
    const std::string refused = "job \"" + child.id() + "\" is not started: its parent \"" + child.parent_id() + "\" ";
    if (!parent) return not_found(refused + "is gone");
    return parent->stop() ? failed_precondition(refused + "is stopped") : ok_status();
  }

  Status put_current(const v1::Job& job, ApplyContext& context) const {
    WriteTransaction& rows = context.rows();
    const auto before = tables_.stubs.get(rows, job_key(job.namespace_(), job.id()));
    v1::JobListStub stub = stub_of(job);
    *stub.mutable_job_summary()->mutable_children() =
        before ? before->job_summary().children() : counted_children(job, rows);
    DROVER_RETURN_IF_ERROR(tables_.jobs.put(rows, job));
    DROVER_RETURN_IF_ERROR(tables_.stubs.put(rows, stub));
    if (before && before->parent_id() == job.parent_id() && before->status() == job.status()) return ok_status();
    if (before) DROVER_RETURN_IF_ERROR(tell_parent(*before, -1, context));
    return tell_parent(stub, 1, context);
  }
  v1::JobChildrenSummary counted_children(const v1::Job& parent, const ReadView& rows) const {
    v1::JobChildrenSummary children;
    if (!starts_children(parent)) return children;
    tables_.jobs.scan(rows, kJobsByParent, of_job(parent.namespace_(), parent.id()),
                      [&](v1::Job& child, std::string_view) { return count_child(children, child.status(), 1), true; });
    return children;
  }
  // A parent that is gone keeps no numbers: they are counted anew if it comes back.
  Status tell_parent(const v1::JobListStub& child, int64_t change, ApplyContext& context) const {
    if (child.parent_id().empty()) return ok_status();
    auto parent = tables_.stubs.get(context.rows(), job_key(child.namespace_(), child.parent_id()));
    if (!parent) return ok_status();
    v1::JobSummary& summary = *parent->mutable_job_summary();
    count_child(*summary.mutable_children(), child.status(), change);
    summary.set_modify_index(context.index());
    return tables_.stubs.put(context.rows(), *parent);
  }
  // A version's words beside its description; the newest one's stand in the job as well.
  Result<std::string> put_version(v1::Job version, ApplyContext& context) const {
    version.set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(tables_.versions.put(context.rows(), version));
    auto job = tables_.jobs.get(context.rows(), job_key(version.namespace_(), version.id()));
    if (!job || job->version() != version.version()) return std::string();
    job->set_stable(version.stable());
    job->clear_version_tag();
    if (version.has_version_tag()) *job->mutable_version_tag() = version.version_tag();
    job->set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(put_current(*job, context));
    return std::string();
  }
  // The job and its version; versions that need not be kept go.
  Status put(const v1::Job& job, ApplyContext& context) const {
    WriteTransaction& rows = context.rows();
    DROVER_RETURN_IF_ERROR(put_current(job, context));
    DROVER_RETURN_IF_ERROR(tables_.versions.put(rows, job));
    DROVER_RETURN_IF_ERROR(tables_.scaling.follow(job, context));
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
  Status erase(std::string_view name_space, std::string_view id, ApplyContext& context) const {
    WriteTransaction& rows = context.rows();
    if (const auto stub = tables_.stubs.get(rows, job_key(name_space, id))) {
      DROVER_RETURN_IF_ERROR(tell_parent(*stub, -1, context));
    }
    tables_.scaling.forget(name_space, id, context);
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
    return ok_status();
  }

  const Tables& tables_;
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
    if (runs_until_stopped(job)) job.set_status(job.stop() ? v1::JOB_STATUS_DEAD : v1::JOB_STATUS_RUNNING);
    job.set_submit_time(time);
    job.set_create_index(existing ? existing->create_index() : index);
    job.set_version(existing ? existing->version() + 1 : 0);
    job.set_stable(false);  // a new version has yet to prove itself, and has no name
    job.clear_version_tag();
  }
  job.set_modify_index(index);
  job.set_job_modify_index(index);
  return job;
}

Status in_known_namespace(const ReadView& view, const Tables& tables, const v1::Job& job) {
  if (has_namespace(view, tables.namespaces, job.namespace_())) return ok_status();
  return invalid_argument(nonexistent_namespace(job));
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
  DROVER_RETURN_IF_ERROR(tables.scaling.declare(declare));
  DROVER_RETURN_IF_ERROR(declare.later_table("namespaces", tables.namespaces));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::registered>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::deregistered>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::deleted>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::stability_changed>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::dispatched>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::tagged>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::scaled>(commands));
  return declare.command<&Commands::status_changed>(commands);
}

}  // namespace drover::jobs
