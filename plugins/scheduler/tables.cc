#include "tables.h"

#include <map>
#include <optional>
#include <set>

#include "counts/job_counts.h"
#include "drover/keys.h"
#include "drover/message_fields.h"
#include "drover/model/allocation.h"
#include "drover/model/evaluation.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "packing/metrics.h"
#include "packing/pack.h"
#include "scheduler.pb.h"

namespace drover::scheduler {
namespace {

// Writes rows of one entry, keeps the numbers of every job they belong to, and tells the owner of jobs what these mean.
class Writer {
 public:
  Writer(const Tables& tables, ApplyContext& context, int64_t time)
      : tables_(tables), context_(context), rows_(context.rows()), time_(time) {}

  Status put(v1::Evaluation eval) {
    const auto existing = tables_.evals.get(rows_, eval.id());
    if (!existing && eval.status() == v1::EVAL_STATUS_CANCELED) return ok_status();  // deleted meanwhile
    eval.set_create_index(existing ? existing->create_index() : context_.index());
    if (existing) eval.set_create_time(existing->create_time());
    if (eval.create_time() == 0) eval.set_create_time(time_);
    eval.clear_related_evals();
    if (eval.status() == v1::EVAL_STATUS_BLOCKED && !(existing && existing->status() == v1::EVAL_STATUS_BLOCKED)) {
      DROVER_RETURN_IF_ERROR(
          cancel_blocked(eval, "existing blocked evaluation exists for job \"" + eval.job_id() + "\""));
    } else if (eval.status() == v1::EVAL_STATUS_COMPLETE && eval.failed_tg_allocs().empty() &&
               eval.blocked_eval().empty()) {
      // Everything found its place: nothing is left to wait for.
      DROVER_RETURN_IF_ERROR(
          cancel_blocked(eval, "evaluation \"" + Uuid::from_bytes(eval.id()).to_string() + "\" successful"));
    }
    return write(existing ? &*existing : nullptr, eval);
  }

  Status put(google::protobuf::RepeatedPtrField<v1::Evaluation> evals) {
    for (v1::Evaluation& eval : evals) DROVER_RETURN_IF_ERROR(put(std::move(eval)));
    return ok_status();
  }

  // An allocation that is about to change, with what it was.
  struct AllocChange {
    v1::Allocation row;
    RowKeys keys;
    CountedAlloc counted;
    bool was_over = false;  // on its node
  };
  std::optional<AllocChange> change(const std::string& id) const {
    auto row = tables_.allocs.get(rows_, id);
    if (!row) return std::nullopt;
    RowKeys keys = tables_.allocs.keys(*row);
    CountedAlloc counted(*row);
    const bool was_over = client_terminal(*row);
    return AllocChange{*std::move(row), std::move(keys), std::move(counted), was_over};
  }
  // A change made by a server: its node shall know.
  Status put(AllocChange change) {
    change.row.set_alloc_modify_index(context_.index());
    return put_client_side(std::move(change));
  }
  Status put_client_side(AllocChange change) {
    change.row.set_modify_index(context_.index());
    if (client_terminal(change.row) && !change.was_over) forgotten_.add_alloc_ids(change.row.id());
    v1::JobCounts& counts = counts_of(change.row.namespace_(), change.row.job_id());
    change.counted.add_to(counts, -1);
    CountedAlloc(change.row).add_to(counts, 1);
    return tables_.allocs.put(rows_, change.row, &change.keys);
  }
  // The serialized metric of one that is placed: its row is written again with each report, and needs it not.
  void add_metric(const std::string& alloc_id, std::string metric, packing::Format format) {
    const packing::MetricPlace place = packing::place_of_metric(alloc_id);
    Metrics& row = metrics_[place.key];
    row.added.push_back({place.slot, std::move(metric)});
    row.format = format;
  }
  // One that the servers have placed.
  Status add(v1::Allocation& alloc) {
    alloc.set_create_index(context_.index());
    alloc.set_modify_index(context_.index());
    alloc.set_alloc_modify_index(context_.index());
    v1::JobCounts& counts = counts_of(alloc.namespace_(), alloc.job_id());
    if (const auto existing = change(alloc.id())) existing->counted.add_to(counts, -1);
    CountedAlloc(alloc).add_to(counts, 1);
    return tables_.allocs.put(rows_, alloc);
  }

  void erase_eval(const std::string& id) {
    const auto eval = tables_.evals.get(rows_, id);
    if (!eval) return;
    if (!eval->job_id().empty()) CountedEval(*eval).add_to(counts_of(eval->namespace_(), eval->job_id()), -1);
    tables_.evals.erase(rows_, id);
  }
  void erase_alloc(const std::string& id) {
    const auto alloc = tables_.allocs.get(rows_, id);
    if (!alloc) return;
    CountedAlloc(*alloc).add_to(counts_of(alloc->namespace_(), alloc->job_id()), -1);
    tables_.allocs.erase(rows_, id);
    if (!client_terminal(*alloc)) forgotten_.add_alloc_ids(id);
    if (alloc->has_metrics()) return;
    const packing::MetricPlace place = packing::place_of_metric(id);
    metrics_[place.key].dropped.push_back(place.slot);
  }

  // Counts the job anew. Queued numbers stay, unless an evaluation that is there says something newer.
  void recount(const std::string& name_space, const std::string& job_id) {
    Job& job = job_of(name_space, job_id);
    v1::JobCounts fresh = counted(name_space, job_id);
    if (fresh.queued_index() < job.counts.queued_index()) {
      fresh.mutable_queued()->swap(*job.counts.mutable_queued());
      fresh.set_queued_index(job.counts.queued_index());
    }
    fresh.set_namespace_(name_space);
    fresh.set_job_id(job_id);
    job.counts = std::move(fresh);
    job.is_evaluated = true;
  }

  // What happened to an allocation in its deployment, for finish() to tell. Valid until the next.
  v1::DeploymentProgressed& progress(const v1::Allocation& alloc) {
    v1::DeploymentProgressed& progress = progress_[{alloc.deployment_id(), alloc.task_group()}];
    progress.set_deployment_id(alloc.deployment_id());
    progress.set_group(alloc.task_group());
    progress.set_time(time_);
    return progress;
  }

  // The health of an allocation in its deployment is known, or is another one.
  void set_health(v1::Allocation& alloc, bool healthy, int64_t when) {
    if (alloc.deployment_id().empty()) return;
    v1::AllocDeploymentStatus& status = *alloc.mutable_deployment_status();
    if (status.has_healthy() && status.healthy() == healthy) return;
    v1::DeploymentProgressed& change = progress(alloc);
    if (status.has_healthy() && status.healthy()) change.set_healthy(change.healthy() - 1);
    if (status.has_healthy() && !status.healthy()) change.set_unhealthy(change.unhealthy() - 1);
    if (healthy) {
      change.set_healthy(change.healthy() + 1);
      change.set_healthy_at(std::max(change.healthy_at(), when));
    } else {
      change.set_unhealthy(change.unhealthy() + 1);
    }
    status.set_healthy(healthy);
    status.set_timestamp(when);
    status.set_modify_index(context_.index());
  }

  // Last of all: tells the deployments, has the services of what has ended forgotten, writes the numbers, and says what
  // they mean for a job's status where that is something else now.
  Status finish() {
    for (auto& [key, change] : metrics_) DROVER_RETURN_IF_ERROR(write_metrics(key, std::move(change)));
    for (const auto& [of, progress] : progress_) DROVER_RETURN_IF_ERROR(also(context_, progress));
    if (!forgotten_.alloc_ids().empty()) DROVER_RETURN_IF_ERROR(also(context_, forgotten_));
    for (auto& [name, job] : jobs_) {
      v1::JobCounts& counts = job.counts;
      counts.set_modify_index(context_.index());
      if (counts.allocations() == 0 && counts.evaluations() == 0) {
        tables_.counts.erase(rows_, job_key(name.first, name.second));
      } else {
        DROVER_RETURN_IF_ERROR(tables_.counts.put(rows_, counts));
      }
      v1::JobStatusChanged now = meaning(counts);
      if (!job.is_evaluated && serialize(now) == serialize(job.told)) continue;
      now.set_namespace_(name.first);
      now.set_job_id(name.second);
      DROVER_RETURN_IF_ERROR(also(context_, now));
    }
    return ok_status();
  }

 private:
  struct Metrics {
    std::vector<packing::PlacedMetric> added;
    packing::Format format{};  // of those
    std::vector<uint32_t> dropped;  // slots
  };
  struct Job {
    v1::JobCounts counts;
    v1::JobStatusChanged told;  // what the numbers meant before
    bool is_evaluated = false;  // an evaluation came or changed: the job's own row may have, too
  };

  Status write_metrics(const std::string& key, Metrics change) {
    auto row = tables_.metrics.get(rows_, key);
    if (!row && change.added.empty()) return ok_status();  // placed before metrics stood apart
    v1::PassMetrics metrics = row ? *std::move(row) : v1::PassMetrics();
    metrics.set_key(key);
    for (const uint32_t slot : change.dropped) packing::drop_metric(slot, metrics);
    if (!change.added.empty()) {
      DROVER_RETURN_IF_ERROR(packing::add_metrics(std::move(change.added), change.format, metrics));
    }
    if (metrics.live() != 0) return tables_.metrics.put(rows_, metrics);
    tables_.metrics.erase(rows_, key);
    return ok_status();
  }

  static v1::JobStatusChanged meaning(const v1::JobCounts& counts) {
    v1::JobStatusChanged changed;
    changed.set_has_any(counts.allocations() > 0 || counts.evaluations() > 0);
    changed.set_has_live_allocs(counts.live_allocations() > 0);
    changed.set_has_open_evals(counts.open_evaluations() > 0);
    return changed;
  }

  Job& job_of(const std::string& name_space, const std::string& job_id) {
    const auto [at, is_new] = jobs_.try_emplace({name_space, job_id});
    Job& job = at->second;
    if (!is_new) return job;
    if (auto row = tables_.counts.get(rows_, job_key(name_space, job_id))) {
      job.counts = *std::move(row);
    } else {
      job.counts = counted(name_space, job_id);
    }
    job.counts.set_namespace_(name_space);
    job.counts.set_job_id(job_id);
    job.told = meaning(job.counts);
    return job;
  }
  // The numbers of a job that has none yet: it is new, or of a state that was saved before numbers were kept.
  v1::JobCounts counted(const std::string& name_space, const std::string& job_id) const {
    v1::JobCounts counts;
    const KeyRange own = of_job(name_space, job_id);
    tables_.allocs.scan(rows_, kAllocsByJob, own, [&](const v1::Allocation& alloc, std::string_view) {
      CountedAlloc(alloc).add_to(counts, 1);
      return true;
    });
    tables_.evals.scan(rows_, kEvalsByJob, own, [&](const v1::Evaluation& eval, std::string_view) {
      CountedEval(eval).add_to(counts, 1);
      take_queued(counts, eval);
      return true;
    });
    return counts;
  }
  v1::JobCounts& counts_of(const std::string& name_space, const std::string& job_id) {
    return job_of(name_space, job_id).counts;
  }

  Status write(const v1::Evaluation* before, v1::Evaluation& eval) {
    eval.set_modify_index(context_.index());
    eval.set_modify_time(time_);
    if (!eval.job_id().empty()) {
      Job& job = job_of(eval.namespace_(), eval.job_id());
      job.is_evaluated = true;
      if (before) CountedEval(*before).add_to(job.counts, -1);
      CountedEval(eval).add_to(job.counts, 1);
      take_queued(job.counts, eval);
    }
    if (!before) return tables_.evals.put(rows_, eval);
    const RowKeys keys = tables_.evals.keys(*before);
    return tables_.evals.put(rows_, eval, &keys);
  }

  Status cancel_blocked(const v1::Evaluation& by, const std::string& why) {
    if (by.job_id().empty()) return ok_status();
    const auto blocked = counts_of(by.namespace_(), by.job_id()).blocked_evaluations();
    for (const std::string& id : blocked) {
      const auto before = tables_.evals.get(rows_, id);
      if (!before || id == by.id()) continue;
      if (by.status() == v1::EVAL_STATUS_BLOCKED && before->node_id() != by.node_id()) continue;  // for other room
      v1::Evaluation eval = *before;
      eval.set_status(v1::EVAL_STATUS_CANCELED);
      eval.set_status_description(why);
      DROVER_RETURN_IF_ERROR(write(&*before, eval));
    }
    return ok_status();
  }

  const Tables& tables_;
  ApplyContext& context_;
  WriteTransaction& rows_;
  const int64_t time_;
  std::map<std::pair<std::string, std::string>, Job> jobs_;
  std::map<std::pair<std::string, std::string>, v1::DeploymentProgressed> progress_;  // by deployment and group
  v1::ServicesForgotten forgotten_;
  std::map<std::string, Metrics> metrics_;  // by key
};

// The metrics of allocations that were placed together; nobody else reads them.
TableShape<v1::PassMetrics> alloc_metrics_table() {
  return {"alloc_metrics", {}, [](const v1::PassMetrics& row, RowKeys& keys) { keys.primary(row.key()); }};
}

// The status of a node, without decoding all that its fingerprint found.
std::optional<v1::NodeStatus> status_of(const Tables& tables, const std::string& node, const ReadView& rows) {
  const auto row = rows.get(tables.nodes, node);
  if (!row) return std::nullopt;
  return static_cast<v1::NodeStatus>(number_field(*row, v1::Node::kStatusFieldNumber));
}

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> evals_updated(const v1::EvalsUpdated& command, ApplyContext& context) const {
    Writer writer(tables_, context, command.time());
    DROVER_RETURN_IF_ERROR(writer.put(command.evaluations()));
    DROVER_RETURN_IF_ERROR(writer.finish());
    return std::string();
  }

  Result<std::string> evals_deleted(const v1::EvalsDeleted& command, ApplyContext& context) const {
    if (command.only_while_paused() && !is_paused(tables_, context.rows())) {
      return invalid_argument(std::string(kBrokerRuns));
    }
    Writer writer(tables_, context, 0);
    for (const std::string& id : command.eval_ids()) writer.erase_eval(id);
    for (const std::string& id : command.alloc_ids()) writer.erase_alloc(id);
    DROVER_RETURN_IF_ERROR(writer.finish());
    return std::string();
  }

  Result<std::string> jobs_recounted(const v1::JobsRecounted& command, ApplyContext& context) const {
    const ReadView& rows = context.rows();
    std::set<std::pair<std::string, std::string>> jobs;
    const auto note = [&](const auto& row, std::string_view) {
      if (!row.job_id().empty()) jobs.emplace(row.namespace_(), row.job_id());
      return true;
    };
    tables_.allocs.scan(rows, kPrimary, KeyRange::all(), note);
    tables_.evals.scan(rows, kPrimary, KeyRange::all(), note);
    tables_.counts.scan(rows, kPrimary, KeyRange::all(), note);
    Writer writer(tables_, context, command.time());
    for (const auto& [name_space, job_id] : jobs) writer.recount(name_space, job_id);
    DROVER_RETURN_IF_ERROR(writer.finish());
    return std::string();
  }

  Result<std::string> plans_packed(v1::PlansPacked& command, ApplyContext& context) const {
    return apply_packed(command, packing::Format::second, context);
  }

  // Means what it always has, down to the rows of metrics.
  Result<std::string> plans_applied(v1::PlansApplied& command, ApplyContext& context) const {
    return apply_packed(command, packing::Format::first, context);
  }

  // Means what it always has: the rows hold the metrics.
  Result<std::string> plan_applied(v1::PlanApplied& command, ApplyContext& context) const {
    return apply_plan(command, {}, packing::Format::first, context);
  }

  Result<std::string> allocations_reported(const v1::AllocationsReported& command, ApplyContext& context) const {
    Writer writer(tables_, context, command.time());
    std::set<std::string> caught_up;  // nodes
    v1::AllocationsReportedAnswer answer;
    for (int at = 0; at < command.allocations_size(); ++at) {
      const v1::Allocation& report = command.allocations(at);
      auto alloc = writer.change(report.id());
      if (!alloc) continue;  // collected meanwhile
      v1::Allocation& row = alloc->row;
      const auto node = status_of(tables_, row.node_id(), context.rows());
      if (!node || *node == v1::NODE_STATUS_DOWN || *node == v1::NODE_STATUS_DISCONNECTED) {
        v1::AllocationsReportedAnswer::Refused& refused = *answer.add_refused();
        refused.set_at(static_cast<uint32_t>(at));
        refused.set_node_id(row.node_id());
        refused.set_status(node.value_or(v1::NODE_STATUS_UNSPECIFIED));
        continue;
      }
      if (*node == v1::NODE_STATUS_INITIALIZING) caught_up.insert(row.node_id());
      row.set_client_status(report.client_status());
      row.set_client_description(report.client_description());
      *row.mutable_task_states() = report.task_states();
      if (report.has_network_status()) *row.mutable_network_status() = report.network_status();
      if (report.deployment_status().has_healthy()) {
        writer.set_health(row, report.deployment_status().healthy(), report.deployment_status().timestamp());
      }
      row.set_modify_time(command.time());
      DROVER_RETURN_IF_ERROR(writer.put_client_side(*std::move(alloc)));
    }
    if (answer.refused_size() > 0 && answer.refused_size() == command.allocations_size()) return serialize(answer);
    for (const std::string& id : caught_up) {
      v1::NodeCaughtUp node;
      node.set_node_id(id);
      DROVER_RETURN_IF_ERROR(also(context, node));
    }
    DROVER_RETURN_IF_ERROR(writer.put(command.evaluations()));
    DROVER_RETURN_IF_ERROR(writer.finish());
    return serialize(answer);
  }

  Result<std::string> allocations_transitioned(const v1::AllocationsTransitioned& command,
                                               ApplyContext& context) const {
    Writer writer(tables_, context, command.time());
    for (const std::string& id : command.alloc_ids()) {
      auto alloc = writer.change(id);
      if (!alloc) return not_found("alloc " + Uuid::from_bytes(id).to_string() + " not found");
      alloc->row.mutable_desired_transition()->MergeFrom(command.transition());
      alloc->row.set_modify_time(command.time());
      DROVER_RETURN_IF_ERROR(writer.put(*std::move(alloc)));
    }
    DROVER_RETURN_IF_ERROR(writer.put(command.evaluations()));
    DROVER_RETURN_IF_ERROR(writer.finish());
    return std::string();
  }

  Result<std::string> health_changed(const v1::AllocationsHealthChanged& command, ApplyContext& context) const {
    Writer writer(tables_, context, command.time());
    const auto each = [&](const auto& ids, const auto& change) -> Status {
      for (const std::string& id : ids) {
        auto alloc = writer.change(id);
        if (!alloc) return not_found("alloc " + Uuid::from_bytes(id).to_string() + " not found");
        change(alloc->row);
        DROVER_RETURN_IF_ERROR(writer.put(*std::move(alloc)));
      }
      return ok_status();
    };
    DROVER_RETURN_IF_ERROR(
        each(command.healthy_ids(), [&](v1::Allocation& alloc) { writer.set_health(alloc, true, command.time()); }));
    DROVER_RETURN_IF_ERROR(
        each(command.unhealthy_ids(), [&](v1::Allocation& alloc) { writer.set_health(alloc, false, command.time()); }));
    DROVER_RETURN_IF_ERROR(each(command.promoted_ids(), [&](v1::Allocation& alloc) {
      alloc.mutable_deployment_status()->set_canary(false);
      alloc.mutable_deployment_status()->set_modify_index(context.index());
    }));
    DROVER_RETURN_IF_ERROR(writer.finish());
    return std::string();
  }

 private:
  template <typename Packed>
  Result<std::string> apply_packed(Packed& command, packing::Format format, ApplyContext& context) const {
    // Before anything is written: a node that it names may be gone.
    std::vector<std::string> metrics;
    const packing::Lookup lookup = packing::lookup_in(context.rows(), tables_.nodes, tables_.evals.id());
    DROVER_TRY(v1::PlanApplied plan, packing::unpack_apart(std::move(command), lookup, metrics));
    return apply_plan(plan, std::move(metrics), format, context);
  }

  // `metrics`: of the allocations that it places, by their order, and the format of their rows; those of the others are
  // in the allocations.
  Result<std::string> apply_plan(v1::PlanApplied& command, std::vector<std::string> metrics, packing::Format format,
                                 ApplyContext& context) const {
    if (command.has_registration()) DROVER_RETURN_IF_ERROR(register_with(command, context));
    Writer writer(tables_, context, command.time());
    if (command.deployments_size() + command.deployment_updates_size() > 0) {
      v1::DeploymentsUpdated deployments;
      deployments.mutable_created()->Swap(command.mutable_deployments());
      deployments.mutable_updates()->Swap(command.mutable_deployment_updates());
      deployments.set_time(command.time());
      DROVER_RETURN_IF_ERROR(also(context, deployments));
    }
    for (const v1::AllocationDelta& delta : command.changed()) {
      auto alloc = writer.change(delta.id());
      if (!alloc) continue;  // collected meanwhile: nothing is left to change
      if (change(alloc->row, delta, command.time())) {
        v1::DeploymentProgressed& progress = writer.progress(alloc->row);
        progress.set_placed(progress.placed() + 1);
      }
      DROVER_RETURN_IF_ERROR(writer.put(*std::move(alloc)));
    }
    for (int i = 0; i < command.placed_size(); ++i) {
      v1::Allocation& alloc = *command.mutable_placed(i);
      alloc.set_create_time(command.time());
      alloc.set_modify_time(command.time());
      if (!alloc.previous_allocation().empty()) {
        if (auto previous = writer.change(alloc.previous_allocation())) {
          previous->row.set_next_allocation(alloc.id());
          DROVER_RETURN_IF_ERROR(writer.put(*std::move(previous)));
        }
      }
      if (!alloc.deployment_id().empty()) {
        v1::DeploymentProgressed& progress = writer.progress(alloc);
        progress.set_placed(progress.placed() + 1);
        if (alloc.deployment_status().canary()) progress.add_placed_canaries(alloc.id());
      }
      const auto at = static_cast<size_t>(i);
      if (at < metrics.size() && !metrics[at].empty()) writer.add_metric(alloc.id(), std::move(metrics[at]), format);
      DROVER_RETURN_IF_ERROR(writer.add(alloc));
    }
    if (command.has_host_volume_claims()) DROVER_RETURN_IF_ERROR(also(context, command.host_volume_claims()));
    DROVER_RETURN_IF_ERROR(writer.put(command.evaluations()));
    DROVER_RETURN_IF_ERROR(writer.finish());
    return std::string();
  }

  // The job of a plan comes with it: what the plan makes belongs to the job as it is stored now.
  Status register_with(v1::PlanApplied& command, ApplyContext& context) const {
    DROVER_RETURN_IF_ERROR(also(context, command.registration()));
    const v1::Job& wanted = command.registration().job();
    const auto job = Table<v1::Job>(tables_.jobs).get(context.rows(), job_key(wanted.namespace_(), wanted.id()));
    if (!job) return not_found("job \"" + wanted.id() + "\" not found");
    for (v1::Allocation& alloc : *command.mutable_placed()) {
      if (alloc.job_version() > job->version())
        return failed_precondition("the plan is for another version of the job");
      alloc.set_job_create_index(job->create_index());
    }
    for (v1::Deployment& deployment : *command.mutable_deployments()) {
      deployment.set_job_create_index(job->create_index());
      deployment.set_job_modify_index(job->modify_index());
      deployment.set_job_spec_modify_index(job->job_modify_index());
    }
    for (v1::Evaluation& eval : *command.mutable_evaluations()) {
      if (eval.job_id() == job->id() && eval.namespace_() == job->namespace_()) {
        eval.set_job_modify_index(job->job_modify_index());
      }
    }
    return ok_status();
  }

  // True when the allocation has come to another deployment.
  static bool change(v1::Allocation& alloc, const v1::AllocationDelta& delta, int64_t time) {
    if (delta.desired_status() != v1::DESIRED_STATUS_UNSPECIFIED) alloc.set_desired_status(delta.desired_status());
    if (!delta.desired_description().empty()) alloc.set_desired_description(delta.desired_description());
    // The node's word about the end stays true.
    if (delta.client_status() != v1::CLIENT_STATUS_UNSPECIFIED && !client_terminal(alloc)) {
      alloc.set_client_status(delta.client_status());
      alloc.set_client_description(delta.client_description());
    }
    if (!delta.next_allocation().empty()) alloc.set_next_allocation(delta.next_allocation());
    if (!delta.followup_eval_id().empty()) alloc.set_followup_eval_id(delta.followup_eval_id());
    if (delta.has_job_version()) alloc.set_job_version(delta.job_version());
    if (delta.has_allocated_resources()) *alloc.mutable_allocated_resources() = delta.allocated_resources();
    if (!delta.preempted_by_allocation().empty()) alloc.set_preempted_by_allocation(delta.preempted_by_allocation());
    alloc.mutable_alloc_states()->MergeFrom(delta.add_states());
    const bool moves = !delta.deployment_id().empty() && delta.deployment_id() != alloc.deployment_id();
    if (moves) {
      alloc.set_deployment_id(delta.deployment_id());
      alloc.clear_deployment_status();
    }
    // The end of an allocation that says no time itself is when its node last reported.
    if (!client_terminal(alloc)) alloc.set_modify_time(time);
    return moves;
  }

  const Tables tables_;
};

}  // namespace

bool is_paused(const Tables& tables, const ReadView& view) {
  const auto config = tables.config.get(view, "");
  return config && config->pause_eval_broker();
}

void join_metric(const Tables& tables, const ReadView& view, v1::Allocation& alloc) {
  if (alloc.has_metrics()) return;
  const packing::MetricPlace place = packing::place_of_metric(alloc.id());
  const auto row = tables.metrics.get(view, place.key);
  if (!row) return;
  if (auto metric = packing::find_metric(*row, place.slot)) *alloc.mutable_metrics() = *std::move(metric);
}

KeyRange with_status(v1::EvalStatus status) {
  return KeyRange::prefix(KeyBuilder().byte(static_cast<uint8_t>(status)).view());
}

std::string_view status_text(v1::NodeStatus status) {
  switch (status) {
    case v1::NODE_STATUS_INITIALIZING:
      return "initializing";
    case v1::NODE_STATUS_READY:
      return "ready";
    case v1::NODE_STATUS_DOWN:
      return "down";
    case v1::NODE_STATUS_DISCONNECTED:
      return "disconnected";
    default:
      return "unknown";
  }
}

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_TRY(tables.evals, declare_table(declare, evals_table()));
  DROVER_TRY(tables.allocs, declare_table(declare, allocs_table()));
  DROVER_TRY(tables.counts, declare_table(declare, job_counts_table()));
  DROVER_TRY(tables.config, declare_table(declare, scheduler_config_table()));
  DROVER_TRY(tables.metrics, declare_table(declare, alloc_metrics_table()));
  DROVER_TRY(tables.jobs, declare.other_table("jobs"));
  DROVER_TRY(tables.job_versions, declare.other_table("job_versions"));
  DROVER_TRY(tables.nodes, declare.other_table("nodes"));
  DROVER_RETURN_IF_ERROR(declare.later_table("csi_volumes", tables.csi_volumes));
  DROVER_RETURN_IF_ERROR(declare.later_table("csi_claims", tables.csi_claims));
  DROVER_RETURN_IF_ERROR(declare.later_table("host_volumes", tables.host_volumes));
  DROVER_RETURN_IF_ERROR(declare.later_table("host_volume_claims", tables.host_volume_claims));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::evals_updated>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::evals_deleted>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::jobs_recounted>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::plan_applied>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::plans_applied>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::plans_packed>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::allocations_reported>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::health_changed>(commands));
  return declare.command<&Commands::allocations_transitioned>(commands);
}

}  // namespace drover::scheduler
