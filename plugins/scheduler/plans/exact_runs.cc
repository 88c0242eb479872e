#include "plans/exact_runs.h"

#include <memory>
#include <utility>

#include "deciding/decide.h"
#include "drover/model/evaluation.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/trial.pb.h"
#include "plans/exact_plan.h"

namespace drover::scheduler {
namespace {

// The applier's answer. It may come when the caller has gone.
struct Answer {
  Mutex mutex;
  CondVarAny changed;
  std::optional<Result<PlanApplier::Outcome>> outcome DROVER_GUARDED_BY(mutex);
};

Status not_the_same(const std::vector<std::string>& differences) {
  std::string text = "the plan is not what would be done now; nothing was done:";
  for (const std::string& one : differences) text += "\n* " + one;
  return failed_precondition(text);
}

}  // namespace

class ExactRuns::Visit {
 public:
  explicit Visit(ExactRuns& runs) : runs_(runs) {
    MutexLock lock(runs_.mutex_);
    if (!runs_.evals_) return;
    evals_ = runs_.evals_;
    plans_ = runs_.plans_;
    ++runs_.inside_;
  }
  ~Visit() {
    if (!evals_) return;
    MutexLock lock(runs_.mutex_);
    --runs_.inside_;
    runs_.left_.notify_all();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  EvalQueue* evals() const { return evals_; }  // null: closed
  PlanApplier& plans() const { return *plans_; }

 private:
  ExactRuns& runs_;
  EvalQueue* evals_ = nullptr;
  PlanApplier* plans_ = nullptr;
};

void ExactRuns::open(EvalQueue& evals, PlanApplier& plans) {
  MutexLock lock(mutex_);
  evals_ = &evals;
  plans_ = &plans;
}

void ExactRuns::close() {
  MutexLock lock(mutex_);
  evals_ = nullptr;
  plans_ = nullptr;
  left_.wait(lock, std::stop_token(), [&]() DROVER_REQUIRES(mutex_) { return inside_ == 0; });
}

Result<v1::ExactRunResponse> ExactRuns::run(Host& host, const Tables& tables, SharedColumns& columns,
                                            const Scheduler& scheduler, const v1::ExactRunRequest& request,
                                            SteadyTime deadline, std::stop_token stop) {
  const Visit visit(*this);
  if (!visit.evals()) return unavailable("this server does not lead, or only begins to");
  const v1::Job& job = request.job();
  const v1::Evaluation eval = new_evaluation(request.eval_id(), job, "job-register");
  if (is_paused(tables, *host.snapshot())) return failed_precondition("evaluations are paused");
  const auto delivery = visit.evals()->deliver(eval);
  if (!delivery) return aborted("job \"" + job.id() + "\" is being looked at; try again");
  // The delivery stands for the job until the log has answered; nobody else decides about it meanwhile.
  const auto end = [&](const Status& status) {
    visit.evals()->ack(*delivery);
    return status;
  };
  const uint64_t term = host.term();  // before the snapshot
  auto look = columns.look(0, deadline, stop);
  if (!look) return end(look.status().code() == Code::cancelled ? unavailable(look.status().message()) : look.status());
  const ReadView& view = *look->view;
  if (tables.evals.get(view, eval.id())) return end(failed_precondition("the plan was done already"));
  const auto known = Table<v1::Job>(tables.jobs).get(view, job_key(job.namespace_(), job.id()));
  if ((known ? known->job_modify_index() : 0) != request.registration().job_modify_index()) {
    return end(aborted("job \"" + job.id() + "\" has changed since it was planned"));
  }
  DecisionInput input(eval, view, tables, &job);
  input.new_id = ids_after(eval.id());
  Decision decision = decide_on(scheduler, input, host.clock().wall_ns(), look->cluster);
  const std::vector<v1::PlannedChange> planned(request.changes().begin(), request.changes().end());
  const auto different = differences(planned, planned_changes(decision, input.allocs, look->cluster));
  if (!different.empty()) return end(not_the_same(different));

  decision.plan.all_at_once = true;
  auto evals = end_of(eval, decision, view.index());
  // From here on no answer is due in time: the applier always gives one.
  if (!visit.evals()->rest(eval.id(), delivery->token)) return end(aborted("the decision took too long; try again"));
  const auto answer = std::make_shared<Answer>();
  visit.plans().submit({.plan = WeighedPlan(std::move(decision.plan)),
                        .end = std::move(evals),
                        .eval_id = eval.id(),
                        .token = delivery->token,
                        .priority = eval.priority(),
                        .term = term,
                        .registration = request.registration(),
                        .done = [answer](Result<PlanApplier::Outcome> outcome) {
                          MutexLock lock(answer->mutex);
                          answer->outcome = std::move(outcome);
                          answer->changed.notify_all();
                        }});
  MutexLock lock(answer->mutex);
  // The applier always answers, also when this server leads no longer; the plan is in its hands until then.
  answer->changed.wait(lock, std::stop_token(),
                       [&]() DROVER_REQUIRES(answer->mutex) { return answer->outcome.has_value(); });
  const Result<PlanApplier::Outcome> outcome = *std::move(answer->outcome);
  lock.unlock();
  const Status status = end(outcome.status());
  if (status.ok() && !outcome->full) return aborted("a node cannot take its part of the plan any more; plan again");
  // An entry whose answer did not come in time may be applied all the same: the evaluation's row says so.
  const auto now = host.snapshot();
  const auto written = tables.evals.get(*now, eval.id());
  if (!written) {
    if (status.code() != Code::cancelled) return status.ok() ? aborted("the plan is not in the state") : status;
    return unavailable(
        "this server leads no longer; the plan may still be done: run it again, it is done once at most");
  }
  v1::ExactRunResponse response;
  response.set_index(written->create_index());
  const auto row = Table<v1::Job>(tables.jobs).get(*now, job_key(job.namespace_(), job.id()));
  if (row) response.set_job_modify_index(row->job_modify_index());
  return response;
}

}  // namespace drover::scheduler
