#include "worker.h"

#include "decide.h"
#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"

namespace drover::scheduler {
namespace {

constexpr auto kSnapshotTime = std::chrono::seconds(5);
constexpr auto kProposeTime = std::chrono::seconds(30);

int attempts_of(const v1::Evaluation& eval) { return eval.type() == "batch" ? 2 : 5; }

}  // namespace

bool is_scheduled(std::string_view type) { return type == "service" || type == "batch"; }

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
  v1::Evaluation eval = delivery.eval;
  uint64_t index = eval.modify_index();
  if (!is_scheduled(eval.type())) {
    eval.set_status(v1::EVAL_STATUS_FAILED);
    eval.set_status_description("job type \"" + eval.type() + "\" is not supported by this version of drover");
    return write({eval});
  }
  const int limit = attempts_of(eval);
  for (int attempt = 0; attempt < limit; ++attempt) {
    DROVER_TRY(auto look, columns_.look(index, host_.clock().steady() + kSnapshotTime, stop));
    const auto& view = look.view;
    auto row = tables_.evals.get(*view, eval.id());
    // Closed meanwhile: a delivery that was taken back did finish it, or it was cancelled.
    if (!row || !is_open(*row)) return ok_status();
    eval = *std::move(row);
    const SteadyTime began = host_.clock().steady();
    Decision decision = decide(eval, *view, tables_, host_.clock().wall_ns(), std::move(look.cluster));
    // One pass places all; each allocation bears its share of the time.
    const auto took = host_.clock().steady() - began;
    if (!decision.plan.placed.empty()) {
      const int64_t share = took.count() / static_cast<int64_t>(decision.plan.placed.size());
      for (v1::Allocation& alloc : decision.plan.placed) alloc.mutable_metrics()->set_allocation_time(share);
    }
    for (auto& [group, metric] : decision.failed) metric.set_allocation_time(took.count());
    if (decision.plan.empty()) return finish(std::move(eval), decision, view->index());
    DROVER_TRY(PlanApplier::Outcome outcome, plans_.submit(std::move(decision.plan), delivery.token, stop));
    if (outcome.full) return finish(std::move(eval), decision, view->index());
    index = outcome.index;
    if (outcome.progress) attempt = -1;  // what was placed stays placed: the rest has all its attempts again
  }
  return give_up(std::move(eval), limit, index);
}

Status Worker::finish(v1::Evaluation eval, const Decision& decision, uint64_t snapshot_index) {
  const bool waited = eval.status() == v1::EVAL_STATUS_BLOCKED;
  eval.clear_queued_allocations();
  eval.clear_failed_tg_allocs();
  for (const auto& [group, count] : decision.queued) (*eval.mutable_queued_allocations())[group] = count;
  for (const auto& [group, metric] : decision.failed) (*eval.mutable_failed_tg_allocs())[group] = metric;
  eval.set_snapshot_index(snapshot_index);
  if (decision.blocked() && waited) {  // it goes on waiting
    describe_wait(decision, snapshot_index, eval);
    return write({eval});
  }
  eval.set_status(v1::EVAL_STATUS_COMPLETE);
  eval.clear_status_description();
  if (!decision.blocked()) return write({eval});
  const v1::Evaluation blocked = waiting_for_room(eval, decision, snapshot_index, Uuid::random().bytes());
  eval.set_blocked_eval(blocked.id());
  return write({eval, blocked});
}

Status Worker::give_up(v1::Evaluation eval, int attempts, uint64_t snapshot_index) {
  eval.set_status(v1::EVAL_STATUS_FAILED);
  eval.set_status_description("maximum attempts reached (" + std::to_string(attempts) + ")");
  v1::Evaluation blocked =
      blocked_after(eval, Uuid::random().bytes(), "max-plan-attempts", "created due to placement conflicts");
  blocked.set_escaped_computed_class(true);  // any change may end the conflict
  blocked.set_snapshot_index(snapshot_index);
  eval.set_blocked_eval(blocked.id());
  return write({eval, blocked});
}

Status Worker::write(std::initializer_list<v1::Evaluation> evals) {
  v1::EvalsUpdated command;
  for (const v1::Evaluation& eval : evals) *command.add_evaluations() = eval;
  command.set_time(host_.clock().wall_ns());
  return host_.propose(command, host_.clock().steady() + kProposeTime).status();
}

}  // namespace drover::scheduler
