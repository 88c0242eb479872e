#include "worker.h"

#include <algorithm>
#include <map>
#include <utility>

#include "drover/log.h"
#include "drover/messages.h"
#include "drover/metrics.h"
#include "drover/model/evaluation.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/trial.pb.h"

namespace drover::scheduler {
namespace {

constexpr auto kSnapshotTime = std::chrono::seconds(5);

// All allocations of a decision are placed in one pass; each bears its share of the time.
void note_time(Decision& decision, std::chrono::nanoseconds took) {
  if (!decision.plan.placed.empty()) {
    const int64_t share = took.count() / static_cast<int64_t>(decision.plan.placed.size());
    for (v1::Allocation& alloc : decision.plan.placed) alloc.mutable_metrics()->set_allocation_time(share);
  }
  for (auto& [group, metric] : decision.failed) metric.set_allocation_time(took.count());
}

// True when an evaluation that waited found nothing to do, and waits for as much as before: there is nothing to write.
bool only_waits_on(const v1::Evaluation& before, const Decision& decision, const std::vector<v1::Evaluation>& end) {
  const auto& queued = before.queued_allocations();  // empty: it has never looked
  if (serialize(before.storage_wait()) != serialize(end[0].storage_wait())) return false;
  return decision.plan.empty() && end.size() == 1 && end[0].status() == v1::EVAL_STATUS_BLOCKED &&
         (queued.empty() || decision.queued == std::map<std::string, int32_t>(queued.begin(), queued.end()));
}

std::vector<v1::Evaluation> given_up(v1::Evaluation eval, const Scheduler& scheduler, uint64_t snapshot_index) {
  eval.set_status(v1::EVAL_STATUS_FAILED);
  eval.set_status_description("maximum attempts reached (" + std::to_string(scheduler.attempts()) + ")");
  if (!scheduler.waits_after_conflicts()) return {std::move(eval)};
  v1::Evaluation blocked =
      blocked_after(eval, Uuid::random().bytes(), "max-plan-attempts", "created due to placement conflicts");
  blocked.set_escaped_computed_class(true);  // any change may end the conflict
  blocked.set_snapshot_index(snapshot_index);
  eval.set_blocked_eval(blocked.id());
  return {std::move(eval), std::move(blocked)};
}

void tell_unfinished(const v1::Evaluation& eval, const Status& status) {
  log::warn("scheduler", "an evaluation was not finished; it will be tried again",
            {{"eval", Uuid::from_bytes(eval.id()).to_string()}, {"error", status.message()}});
}

// Closes a delivery by what became of its plan. [plans]
void answer(EvalQueue& evals, Delivery delivery, const Result<PlanApplier::Outcome>& outcome) {
  if (!outcome) {
    if (outcome.status().code() != Code::cancelled) tell_unfinished(delivery.eval, outcome.status());
    return evals.nack(delivery);
  }
  if (outcome->full) return evals.ack(delivery);
  // Placed allocations stay placed; the rest has all its attempts again.
  delivery.attempts = outcome->progress ? 0 : delivery.attempts + 1;
  delivery.index = outcome->index;
  evals.again(std::move(delivery));
}

}  // namespace

void Worker::run(std::stop_token stop, const std::function<void(bool)>& is_busy) {
  while (const auto delivery = evals_.dequeue(types_, stop)) {
    is_busy(true);
    work_on(*delivery, stop);
    is_busy(false);
  }
}

void Worker::work_on(const Delivery& delivery, std::stop_token stop) {
  const SteadyTime began = host_.clock().steady();
  const Status status = process(delivery, stop);
  host_.metrics().observe("nomad.nomad.worker.invoke_scheduler." + delivery.eval.type(),
                          host_.clock().steady() - began);
  if (status.ok()) return;
  if (!stop.stop_requested()) tell_unfinished(delivery.eval, status);
  evals_.nack(delivery);
}

Status Worker::process(const Delivery& delivery, std::stop_token stop) {
  const uint64_t term = host_.term();  // before the snapshot
  if (const auto* scheduler = host_.extension<Scheduler>(delivery.eval.type())) {
    return schedule(*scheduler, delivery, term, stop);
  }
  v1::Evaluation eval = delivery.eval;
  eval.set_status(v1::EVAL_STATUS_FAILED);
  eval.set_status_description("job type \"" + eval.type() + "\" is not supported by this version of drover");
  submit(delivery, {}, {std::move(eval)}, term);
  return ok_status();
}

Status Worker::schedule(const Scheduler& scheduler, const Delivery& delivery, uint64_t term, std::stop_token stop) {
  const uint64_t index = std::max(delivery.index, delivery.eval.modify_index());
  DROVER_TRY(auto look, columns_.look(index, host_.clock().steady() + kSnapshotTime, stop));
  const auto& view = look.view;
  auto row = tables_.evals.get(*view, delivery.eval.id());
  if (!row || !is_open(*row)) {
    // Closed meanwhile: a delivery that was taken back did finish it, or it was cancelled.
    evals_.ack(delivery);
    return ok_status();
  }
  if (delivery.attempts >= scheduler.attempts()) {
    submit(delivery, {}, given_up(*std::move(row), scheduler, delivery.index), term);
    return ok_status();
  }
  const DecisionInput input(*row, *view, tables_);
  if (input.job && input.job->type() != row->type()) {
    // It was left by an earlier job with that name. The new one has evaluations of its own.
    row->set_status(v1::EVAL_STATUS_CANCELED);
    row->set_status_description("the job is of another type by now");
    submit(delivery, {}, {*std::move(row)}, term);
    return ok_status();
  }
  const SteadyTime began = host_.clock().steady();
  Decision decision = decide_on(scheduler, input, host_.clock().wall_ns(), look.cluster);
  note_time(decision, host_.clock().steady() - began);
  // One entry cannot hold the rest of such a plan: it is decided again, on what was placed by then.
  if (leave_first(decision.plan)) {
    submit(delivery, std::move(decision.plan), {}, term);
    return ok_status();
  }
  std::vector<v1::Evaluation> end = end_of(*row, decision, view->index());
  if (only_waits_on(*row, decision, end)) {
    evals_.block_again(delivery, end[0]);
  } else {
    submit(delivery, std::move(decision.plan), std::move(end), term);
  }
  return ok_status();
}

void Worker::submit(const Delivery& delivery, Scheduler::Plan plan, std::vector<v1::Evaluation> end, uint64_t term) {
  // Taken back meanwhile: whoever has it now answers.
  if (!evals_.rest(delivery.eval.id(), delivery.token)) return;
  const bool is_part = end.empty();
  plans_.submit({.plan = WeighedPlan(std::move(plan)),
                 .end = std::move(end),
                 .is_part = is_part,
                 .eval_id = delivery.eval.id(),
                 .token = delivery.token,
                 .priority = delivery.eval.priority(),
                 .term = term,
                 .done = [&evals = evals_, delivery](const Result<PlanApplier::Outcome>& outcome) {
                   answer(evals, delivery, outcome);
                 }});
}

}  // namespace drover::scheduler
