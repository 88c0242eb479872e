#include "explaining/why_rpc.h"

#include <map>
#include <utility>
#include <vector>

#include "deciding/decide.h"
#include "drover/api/why.pb.h"
#include "drover/model/allocation.h"
#include "drover/model/deployment.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/model/listing.h"
#include "drover/model/node.h"
#include "drover/schema.h"
#include "drover/time.h"
#include "drover/uuid.h"
#include "explaining/what_if.h"
#include "explaining/why.h"
#include "leader.h"

namespace drover::scheduler {
namespace {

std::string short_id(const std::string& id) { return Uuid::from_bytes(id).short_string(); }

// The numbers of a group, and what keeps its allocations waiting beside the nodes.
class Circumstances {
 public:
  Circumstances(const ReadView& view, const Tables& tables, const v1::Job& job,
                const std::vector<v1::Allocation>& allocs, v1::WhyResponse& response)
      : view_(view), tables_(tables), job_(job), allocs_(allocs), response_(response) {}

  void note(bool has_scheduler) {
    if (job_.stop()) add("the job is stopped");
    if (is_parameterized(job_)) add("a parameterized job runs when it is dispatched");
    if (is_periodic(job_)) add("a periodic job runs when it is due; its children are jobs of their own");
    if (!has_scheduler) add("jobs of type \"" + job_.type() + "\" have no scheduler on the leading server");
    if (is_paused(tables_, view_)) {
      add("evaluations are paused; `drover operator scheduler set-config -pause-eval-broker=false` goes on with them");
    }
    note_deployment();
    note_evaluations();
  }

  void count(const v1::TaskGroup& group, const Cluster& cluster) {
    v1::WhyGroup& numbers = (*response_.mutable_groups())[group.name()];
    numbers.set_wanted(job_.stop() ? 0 : runs_everywhere(job_) ? nodes_for(group, cluster) : group.count());
    for (const v1::Allocation& alloc : allocs_) {
      if (alloc.task_group() != group.name() || terminal(alloc)) continue;
      if (alloc.job_create_index() == job_.create_index()) numbers.set_running(numbers.running() + 1);
    }
    const auto counts = tables_.counts.get(view_, job_key(job_.namespace_(), job_.id()));
    if (!counts) return;
    const auto queued = counts->queued().find(group.name());
    if (queued != counts->queued().end()) numbers.set_queued(static_cast<int32_t>(queued->second));
  }

 private:
  // Those that a system job has one on.
  int32_t nodes_for(const v1::TaskGroup& group, const Cluster& cluster) const {
    Feasibility feasibility(job_, group);
    int32_t nodes = 0;
    cluster.visit([&](const ClusterNode& node) {
      nodes += accepts_work(*node.node) && in_reach(job_, *node.node) && feasibility.check(*node.node).empty();
    });
    return nodes;
  }

  void add(std::string text) { response_.add_notes(std::move(text)); }

  void note_deployment() {
    if (!tables_.deployments) return;
    const auto deployments = Table<v1::Deployment>(*tables_.deployments)
                                 .list(view_, kDeploymentsByJob, drover::of_job(job_.namespace_(), job_.id()));
    if (deployments.empty() || deployments.front().job_create_index() != job_.create_index()) return;
    const v1::Deployment& newest = deployments.front();
    if (is_active(newest) || newest.status() == v1::DEPLOYMENT_STATUS_FAILED) {
      add("deployment " + short_id(newest.id()) + ": " + newest.status_description());
    }
  }

  void note_evaluations() {
    for (const v1::Evaluation& eval :
         tables_.evals.list(view_, kEvalsByJob, drover::of_job(job_.namespace_(), job_.id()))) {
      if (!is_open(eval)) continue;
      const std::string name = "evaluation " + short_id(eval.id());
      if (eval.status() == v1::EVAL_STATUS_BLOCKED) {
        add(name + " waits for room, since " + format_time(eval.modify_time()));
      } else if (eval.wait_until() != 0) {
        add(name + " waits until " + format_time(eval.wait_until()) +
            (eval.status_description().empty() ? "" : ": " + eval.status_description()));
      } else {
        add(name + " has yet to be looked at");
      }
    }
  }

  const ReadView& view_;
  const Tables& tables_;
  const v1::Job& job_;
  const std::vector<v1::Allocation>& allocs_;
  v1::WhyResponse& response_;
};

}  // namespace

Status WhyRpc::declare(Declarations& declare) {
  DROVER_RETURN_IF_ERROR(declare.service(
      "drover.v1.Why", {method<&WhyRpc::of_job>("OfJob", this), method<&WhyRpc::of_allocation>("OfAllocation", this)}));
  return declare.service("drover.v1.WhatIfTrials", {method<&WhyRpc::what_if>("Run", this)});
}

Status WhyRpc::start(Host& host, SharedColumns& columns, TypesNow types) {
  host_ = &host;
  columns_ = &columns;
  types_ = std::move(types);
  return ok_status();
}

Result<v1::WhyResponse> WhyRpc::of_job(const v1::WhyJobRequest& request, Call& call) {
  DROVER_TRY(auto look, columns_->look(0, call.context().deadline, call.stop()));
  const ReadView& view = *look.view;
  const auto job = Table<v1::Job>(tables_.jobs).get(view, job_key(call.query().name_space, request.job_id()));
  if (!job) return not_found("job \"" + request.job_id() + "\" not found");
  if (!request.group().empty() && !find_group(*job, request.group())) {
    return not_found("job \"" + job->id() + "\" has no group \"" + request.group() + "\"");
  }
  const auto allocs = tables_.allocs.list(view, kAllocsByJob, drover::of_job(job->namespace_(), job->id()));
  const auto config = configuration_for(view, tables_, &*job);
  v1::WhyResponse response;
  response.set_job_id(job->id());
  response.set_index(view.index());
  Circumstances circumstances(view, tables_, *job, allocs, response);
  circumstances.note(scheduler_of(*host_, types_ ? types_() : std::set<std::string>(), job->type()) != nullptr);
  const WhyInput input{.cluster = look.cluster,
                       .allocs = allocs,
                       .job = *job,
                       .rules = rules_for(config, job->type()),
                       .others = others_of(view, tables_),
                       .storage = storage_of(view, tables_)};
  for (const v1::TaskGroup& group : job->task_groups()) {
    if (!request.group().empty() && group.name() != request.group()) continue;
    circumstances.count(group, look.cluster);
    explain_group(input, group, response);
  }
  call.set_index(view.index());
  return response;
}

Result<v1::WhyResponse> WhyRpc::of_allocation(const v1::WhyAllocationRequest& request, Call& call) {
  const auto view = host_->snapshot();
  auto alloc = tables_.allocs.get(*view, request.alloc_id());
  if (!alloc || !call.allowed_in(alloc->namespace_())) return not_found("alloc not found");
  v1::WhyResponse response;
  response.set_job_id(alloc->job_id());
  response.set_index(view->index());
  (*response.mutable_groups())[alloc->task_group()].set_running(terminal(*alloc) ? 0 : 1);
  const auto note = [&](const std::string& text) { response.add_notes(text); };
  if (!alloc->desired_description().empty()) note(alloc->desired_description());
  if (!alloc->client_description().empty()) note(alloc->client_description());
  if (!alloc->previous_allocation().empty()) note("it replaces allocation " + short_id(alloc->previous_allocation()));
  if (!alloc->next_allocation().empty()) note("allocation " + short_id(alloc->next_allocation()) + " replaces it");
  for (const std::string& id : alloc->preempted_allocations()) note("allocation " + short_id(id) + " made room for it");
  if (!alloc->preempted_by_allocation().empty()) {
    note("it made room for allocation " + short_id(alloc->preempted_by_allocation()));
  }
  join_metric(tables_, *view, *alloc);
  const v1::AllocMetric& metric = alloc->metrics();
  for (v1::WhyReason& reason : reasons_of(metric, alloc->task_group())) *response.add_reasons() = std::move(reason);
  add_best(metric, alloc->task_group(), response);
  for (v1::WhyNode& node : *response.mutable_best()) {
    if (const auto row = Table<v1::Node>(tables_.nodes).get(*view, node.node_id())) node.set_node_name(row->name());
  }
  call.set_index(view->index());
  return response;
}

Result<v1::WhatIfResponse> WhyRpc::what_if(const v1::WhatIfRequest& request, Call& call) {
  DROVER_TRY(auto look, columns_->look(0, call.context().deadline, call.stop()));
  call.set_index(look.view->index());
  return scheduler::what_if({.view = *look.view,
                             .tables = tables_,
                             .cluster = std::move(look.cluster),
                             .now = host_->clock().wall_ns(),
                             .stop = call.stop(),
                             .scheduler_of = [this](const std::string& type) { return scheduler_of(*host_, types_ ? types_() : std::set<std::string>(), type); }},
                            request);
}

}  // namespace drover::scheduler
