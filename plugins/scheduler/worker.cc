#include "worker.h"

#include <map>
#include <memory>
#include <optional>

#include "alloc_state.h"
#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"

namespace drover::scheduler {
namespace {

constexpr auto kSnapshotTime = std::chrono::seconds(5);
constexpr auto kProposeTime = std::chrono::seconds(30);

int attempts_of(const v1::Evaluation& eval) { return eval.type() == "batch" ? 2 : 5; }

// The evaluation that waits for what `eval` could not have.
v1::Evaluation blocked_after(const v1::Evaluation& eval, std::string trigger, std::string description) {
  v1::Evaluation blocked;
  blocked.set_id(Uuid::random().bytes());
  blocked.set_namespace_(eval.namespace_());
  blocked.set_priority(eval.priority());
  blocked.set_type(eval.type());
  blocked.set_triggered_by(std::move(trigger));
  blocked.set_job_id(eval.job_id());
  blocked.set_job_modify_index(eval.job_modify_index());
  blocked.set_status(v1::EVAL_STATUS_BLOCKED);
  blocked.set_status_description(std::move(description));
  blocked.set_previous_eval(eval.id());
  return blocked;
}

void describe(const Decision& decision, uint64_t snapshot_index, v1::Evaluation& blocked) {
  blocked.clear_class_eligibility();
  for (const auto& [name, eligible] : decision.class_eligibility) {
    (*blocked.mutable_class_eligibility())[name] = eligible;
  }
  blocked.set_escaped_computed_class(decision.escaped);
  blocked.set_snapshot_index(snapshot_index);
}

Cluster cluster_of(const ReadView& view, const Tables& tables) {
  Cluster cluster;
  Table<v1::Node>(tables.nodes).scan(view, kPrimary, KeyRange::all(), [&](v1::Node& node, std::string_view) {
    cluster.add_node(std::make_shared<const v1::Node>(std::move(node)));
    return true;
  });
  tables.allocs.scan(view, kPrimary, KeyRange::all(), [&](v1::Allocation& alloc, std::string_view) {
    if (!terminal(alloc)) cluster.add(alloc.node_id(), alloc.allocated_resources());
    return true;
  });
  return cluster;
}

}  // namespace

void Worker::run(std::stop_token stop) {
  while (auto delivery = evals_.dequeue(types_, stop)) {
    const SteadyTime began = host_.clock().steady();
    const Status status = process(*delivery, stop);
    host_.metrics().observe("nomad.worker.invoke_scheduler." + delivery->eval.type(), host_.clock().steady() - began);
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
  if (eval.type() != "service" && eval.type() != "batch") {
    eval.set_status(v1::EVAL_STATUS_FAILED);
    eval.set_status_description("job type \"" + eval.type() + "\" is not supported by this version of drover");
    return write({eval});
  }
  const int limit = attempts_of(eval);
  for (int attempt = 0; attempt < limit; ++attempt) {
    DROVER_TRY(auto view, host_.snapshot_at(index, host_.clock().steady() + kSnapshotTime, stop));
    const SteadyTime began = host_.clock().steady();
    Decision decision = decide(eval, *view);
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

Decision Worker::decide(const v1::Evaluation& eval, const ReadView& view) {
  const std::string key = job_key(eval.namespace_(), eval.job_id());
  const auto job = Table<v1::Job>(tables_.jobs).get(view, key);
  std::map<uint64_t, std::optional<v1::Job>> versions;
  EvaluateInput input;
  input.eval = eval;
  input.state.job = job ? &*job : nullptr;
  input.state.allocs = tables_.allocs.list(view, kAllocsByJob, of_job(eval.namespace_(), eval.job_id()));
  input.state.version = [&](uint64_t version) -> const v1::Job* {
    auto [at, unknown] = versions.try_emplace(version);
    if (unknown) {
      const std::string version_key = job_version_key(eval.namespace_(), eval.job_id(), version);
      at->second = Table<v1::Job>(tables_.job_versions).get(view, version_key);
    }
    return at->second ? &*at->second : nullptr;
  };
  input.state.now = host_.clock().wall_ns();
  input.cluster = cluster_of(view, tables_);
  input.new_id = [] { return Uuid::random().bytes(); };
  return evaluate(std::move(input));
}

Status Worker::finish(v1::Evaluation eval, const Decision& decision, uint64_t snapshot_index) {
  const bool waited = eval.status() == v1::EVAL_STATUS_BLOCKED;
  eval.clear_queued_allocations();
  eval.clear_failed_tg_allocs();
  for (const auto& [group, count] : decision.queued) (*eval.mutable_queued_allocations())[group] = count;
  for (const auto& [group, metric] : decision.failed) (*eval.mutable_failed_tg_allocs())[group] = metric;
  eval.set_snapshot_index(snapshot_index);
  if (decision.blocked() && waited) {  // it goes on waiting
    describe(decision, snapshot_index, eval);
    return write({eval});
  }
  eval.set_status(v1::EVAL_STATUS_COMPLETE);
  eval.clear_status_description();
  if (!decision.blocked()) return write({eval});
  v1::Evaluation blocked = blocked_after(eval, "queued-allocs", "created to place remaining allocations");
  describe(decision, snapshot_index, blocked);
  eval.set_blocked_eval(blocked.id());
  return write({eval, blocked});
}

Status Worker::give_up(v1::Evaluation eval, int attempts, uint64_t snapshot_index) {
  eval.set_status(v1::EVAL_STATUS_FAILED);
  eval.set_status_description("maximum attempts reached (" + std::to_string(attempts) + ")");
  v1::Evaluation blocked = blocked_after(eval, "max-plan-attempts", "created due to placement conflicts");
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
