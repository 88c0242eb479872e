#include "trial_rpc.h"

#include <utility>

#include "deciding/decide.h"
#include "deciding/updates.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"

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

}  // namespace

Status TrialRpc::declare(Declarations& declare) {
  return declare.service("drover.v1.Trials", {method<&TrialRpc::run>("Run", this)});
}

Status TrialRpc::start(Host& host, SharedColumns& columns, std::set<std::string> types) {
  host_ = &host;
  columns_ = &columns;
  types_ = std::move(types);
  return ok_status();
}

Result<v1::TrialResponse> TrialRpc::run(const v1::TrialRequest& request, Call& call) {
  const v1::Job& job = request.job();
  if (job.id().empty()) return invalid_argument("a trial needs a job");
  if (job.namespace_() != call.query().name_space) {
    return invalid_argument("the job is of namespace \"" + job.namespace_() + "\", the call of \"" +
                            call.query().name_space + "\"");
  }
  v1::TrialResponse response;
  const auto* scheduler = host_->extension<Scheduler>(job.type());
  if (!scheduler) {
    response.set_refusal("job type \"" + job.type() + "\" has no scheduler in this version of drover");
    return response;
  }
  if (!types_.empty() && !types_.contains(job.type())) {
    response.set_refusal("the leading server does not schedule jobs of type \"" + job.type() +
                         "\" (server.enabled_schedulers)");
    return response;
  }
  DROVER_TRY(auto look, columns_->look(0, call.context().deadline, call.stop()));
  const auto& view = look.view;
  const auto known = Table<v1::Job>(tables_.jobs).get(*view, job_key(job.namespace_(), job.id()));
  if ((known ? known->job_modify_index() : 0) != request.known_index()) {
    return aborted("job \"" + job.id() + "\" has changed meanwhile");
  }
  const v1::Evaluation eval = new_evaluation(Uuid::random().bytes(), job, "job-register");
  const Decision decision =
      decide(*scheduler, eval, *view, tables_, host_->clock().wall_ns(), std::move(look.cluster), &job);
  for (const auto& [name, updates] : decision.desired) {
    *(*response.mutable_groups())[name].mutable_updates() = updates;
  }
  if (known) name_replaced(*known, job, response);
  for (const auto& [name, metric] : decision.failed) (*response.mutable_failed_tg_allocs())[name] = metric;
  for (const v1::Evaluation& next : decision.plan.evaluations) *response.add_created_evals() = next;
  for (const RoomWait& wait : decision.waits) {
    *response.add_created_evals() = waiting_for_room(eval, wait, view->index(), Uuid::random().bytes());
  }
  return response;
}

}  // namespace drover::scheduler
