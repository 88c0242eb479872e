#include "trial_rpc.h"

#include <utility>

#include "deciding/decide.h"
#include "deciding/updates.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "leader.h"
#include "plans/exact_plan.h"

namespace drover::scheduler {
namespace {

// The tasks of each group that cannot go on as they run.
void name_replaced(const v1::Job& before, const v1::Job& after, v1::TrialResponse& response) {
  for (const v1::TaskGroup& group : after.task_groups()) {
    const v1::TaskGroup* old = find_group(before, group.name());
    if (!old) continue;
    v1::TrialGroup& trial = (*response.mutable_groups())[group.name()];
    for (const std::string& name : replacing_tasks(before, *old, after, group)) trial.add_replacing_tasks(name);
  }
}

// The allocations of others that the decision evicts, as they stand.
void name_preempted(const Decision& decision, const ReadView& view, const Tables& tables, v1::TrialResponse& response) {
  for (const auto& [node, deltas] : decision.plan.changed) {
    for (const v1::AllocationDelta& delta : deltas) {
      if (delta.preempted_by_allocation().empty()) continue;
      if (auto row = tables.allocs.get(view, delta.id())) *response.add_preempted() = *std::move(row);
    }
  }
}

}  // namespace

Status TrialRpc::declare(Declarations& declare) {
  return declare.service("drover.v1.Trials",
                         {method<&TrialRpc::run>("Run", this), method<&TrialRpc::apply>("Apply", this)});
}

Status TrialRpc::start(Host& host, SharedColumns& columns, ExactRuns& exact_runs, TypesNow types) {
  host_ = &host;
  columns_ = &columns;
  exact_runs_ = &exact_runs;
  types_ = std::move(types);
  return ok_status();
}

Status TrialRpc::check(const v1::Job& job, const Call& call) {
  if (job.id().empty()) return invalid_argument("a trial needs a job");
  if (job.namespace_() == call.query().name_space) return ok_status();
  return invalid_argument("the job is of namespace \"" + job.namespace_() + "\", the call of \"" +
                          call.query().name_space + "\"");
}

Result<v1::ExactRunResponse> TrialRpc::apply(const v1::ExactRunRequest& request, Call& call) {
  const v1::Job& job = request.job();
  DROVER_RETURN_IF_ERROR(check(job, call));
  const v1::Job& registered = request.registration().job();
  if (registered.id() != job.id() || registered.namespace_() != job.namespace_()) {
    return invalid_argument("the registration is of another job");
  }
  if (request.eval_id().size() != Uuid().bytes().size()) return invalid_argument("the plan names no evaluation");
  const auto* scheduler = scheduler_of(*host_, types_ ? types_() : std::set<std::string>(), job.type());
  if (!scheduler) {
    return failed_precondition("nobody here schedules jobs of type \"" + job.type() + "\"");
  }
  v1::ExactRunRequest guarded = request;
  guarded.mutable_registration()->set_enforce_index(true);
  guarded.mutable_registration()->clear_evaluation();
  return exact_runs_->run(*host_, tables_, *columns_, *scheduler, guarded, call.context().deadline, call.stop());
}

Result<v1::TrialResponse> TrialRpc::run(const v1::TrialRequest& request, Call& call) {
  const v1::Job& job = request.job();
  DROVER_RETURN_IF_ERROR(check(job, call));
  v1::TrialResponse response;
  const auto* scheduler = scheduler_of(*host_, types_ ? types_() : std::set<std::string>(), job.type());
  if (!scheduler) {
    const std::string type = "\"" + job.type() + "\"";
    response.set_refusal(host_->extension<Scheduler>(job.type())
                             ? "the leading server does not schedule jobs of type " + type +
                                   " (server.enabled_schedulers)"
                             : "job type " + type + " has no scheduler in this version of drover");
    return response;
  }
  DROVER_TRY(auto look, columns_->look(0, call.context().deadline, call.stop()));
  const auto& view = look.view;
  const auto known = Table<v1::Job>(tables_.jobs).get(*view, job_key(job.namespace_(), job.id()));
  if ((known ? known->job_modify_index() : 0) != request.known_index()) {
    return aborted("job \"" + job.id() + "\" has changed meanwhile");
  }
  const std::string eval_id = request.eval_id().empty() ? Uuid::random().bytes() : request.eval_id();
  const v1::Evaluation eval = new_evaluation(eval_id, job, "job-register");
  DecisionInput input(eval, *view, tables_, &job);
  input.new_id = ids_after(eval_id);
  const Decision decision = decide_on(*scheduler, input, host_->clock().wall_ns(), look.cluster);
  response.set_eval_id(eval_id);
  for (v1::PlannedChange& change : planned_changes(decision, input.allocs, look.cluster)) {
    *response.add_changes() = std::move(change);
  }
  for (const auto& [name, updates] : decision.desired) {
    *(*response.mutable_groups())[name].mutable_updates() = updates;
  }
  if (known) name_replaced(*known, job, response);
  name_preempted(decision, *view, tables_, response);
  for (const auto& [name, metric] : decision.failed) (*response.mutable_failed_tg_allocs())[name] = metric;
  for (const v1::Evaluation& next : decision.plan.evaluations) *response.add_created_evals() = next;
  for (const RoomWait& wait : decision.waits) {
    *response.add_created_evals() = waiting_for_room(eval, wait, view->index(), Uuid::random().bytes());
  }
  return response;
}

}  // namespace drover::scheduler
