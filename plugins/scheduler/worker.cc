#include "worker.h"

#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/model/evaluation.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/trial.pb.h"

namespace drover::scheduler {
namespace {

constexpr auto kSnapshotTime = std::chrono::seconds(5);
constexpr auto kProposeTime = std::chrono::seconds(30);

// All allocations of a decision are placed in one pass; each bears its share of the time.
void note_time(Decision& decision, std::chrono::nanoseconds took) {
  if (!decision.plan.placed.empty()) {
    const int64_t share = took.count() / static_cast<int64_t>(decision.plan.placed.size());
    for (v1::Allocation& alloc : decision.plan.placed) alloc.mutable_metrics()->set_allocation_time(share);
  }
  for (auto& [group, metric] : decision.failed) metric.set_allocation_time(took.count());
}

}  // namespace

void Worker::run(std::stop_token stop) {
  while (auto delivery = evals_.dequeue(types_, stop)) {
    const SteadyTime began = host_.clock().steady();
    const Status status = process(*delivery, stop);
    host_.metrics().observe("nomad.nomad.worker.invoke_scheduler." + delivery->eval.type(),
                            host_.clock().steady() - began);
    if (status.ok()) {
      evals_.ack(*delivery);
    } else {
      if (!stop.stop_requested()) {
        log::warn("scheduler", "an evaluation was not finished; it will be tried again",
                  {{"eval", Uuid::from_bytes(delivery->eval.id()).to_string()}, {"error", status.message()}});
      }
      evals_.nack(*delivery);
    }
  }
}

Status Worker::process(const Delivery& delivery, std::stop_token stop) {
  if (const auto* scheduler = host_.extension<Scheduler>(delivery.eval.type())) {
    return schedule(*scheduler, delivery, stop);
  }
  v1::Evaluation eval = delivery.eval;
  eval.set_status(v1::EVAL_STATUS_FAILED);
  eval.set_status_description("job type \"" + eval.type() + "\" is not supported by this version of drover");
  return write({eval});
}

Status Worker::schedule(const Scheduler& scheduler, const Delivery& delivery, std::stop_token stop) {
  v1::Evaluation eval = delivery.eval;
  uint64_t index = eval.modify_index();
  for (int attempt = 0; attempt < scheduler.attempts(); ++attempt) {
    DROVER_TRY(auto look, columns_.look(index, host_.clock().steady() + kSnapshotTime, stop));
    const auto& view = look.view;
    auto row = tables_.evals.get(*view, eval.id());
    // Closed meanwhile: a delivery that was taken back did finish it, or it was cancelled.
    if (!row || !is_open(*row)) return ok_status();
    eval = *std::move(row);
    const SteadyTime began = host_.clock().steady();
    Decision decision = decide(scheduler, eval, *view, tables_, host_.clock().wall_ns(), std::move(look.cluster));
    note_time(decision, host_.clock().steady() - began);
    if (decision.plan.empty()) return finish(std::move(eval), decision, view->index());
    DROVER_TRY(PlanApplier::Outcome outcome, plans_.submit(std::move(decision.plan), delivery, stop));
    if (outcome.full) return finish(std::move(eval), decision, view->index());
    index = outcome.index;
    if (outcome.progress) attempt = -1;  // what was placed stays placed: the rest has all its attempts again
  }
  return give_up(std::move(eval), scheduler, index);
}

Status Worker::finish(v1::Evaluation eval, const Decision& decision, uint64_t snapshot_index) {
  const bool waited = eval.status() == v1::EVAL_STATUS_BLOCKED;
  eval.clear_queued_allocations();
  eval.clear_failed_tg_allocs();
  for (const auto& [group, count] : decision.queued) (*eval.mutable_queued_allocations())[group] = count;
  for (const auto& [group, metric] : decision.failed) (*eval.mutable_failed_tg_allocs())[group] = metric;
  eval.set_snapshot_index(snapshot_index);
  if (!decision.deployment_id.empty()) eval.set_deployment_id(decision.deployment_id);
  eval.set_status(v1::EVAL_STATUS_COMPLETE);
  std::vector<v1::Evaluation> evals(1);
  for (const RoomWait& wait : decision.waits) {
    if (waited && wait.node_id == eval.node_id()) {  // it goes on waiting
      eval.set_status(v1::EVAL_STATUS_BLOCKED);
      describe_wait(wait, snapshot_index, eval);
    } else {
      evals.push_back(waiting_for_room(eval, wait, snapshot_index, Uuid::random().bytes()));
    }
  }
  if (eval.status() == v1::EVAL_STATUS_COMPLETE) {
    eval.clear_status_description();
    if (evals.size() > 1) eval.set_blocked_eval(evals[1].id());
  }
  evals[0] = std::move(eval);
  return write(evals);
}

Status Worker::give_up(v1::Evaluation eval, const Scheduler& scheduler, uint64_t snapshot_index) {
  eval.set_status(v1::EVAL_STATUS_FAILED);
  eval.set_status_description("maximum attempts reached (" + std::to_string(scheduler.attempts()) + ")");
  if (!scheduler.waits_after_conflicts()) return write({eval});
  v1::Evaluation blocked =
      blocked_after(eval, Uuid::random().bytes(), "max-plan-attempts", "created due to placement conflicts");
  blocked.set_escaped_computed_class(true);  // any change may end the conflict
  blocked.set_snapshot_index(snapshot_index);
  eval.set_blocked_eval(blocked.id());
  return write({eval, blocked});
}

Status Worker::write(const std::vector<v1::Evaluation>& evals) {
  v1::EvalsUpdated command;
  for (const v1::Evaluation& eval : evals) *command.add_evaluations() = eval;
  command.set_time(host_.clock().wall_ns());
  return host_.propose(command, host_.clock().steady() + kProposeTime).status();
}

}  // namespace drover::scheduler
