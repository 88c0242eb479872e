#include "plan_applier.h"

#include <algorithm>
#include <functional>

#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "scheduler.pb.h"

namespace drover::scheduler {
namespace {

constexpr auto kProposeTime = std::chrono::seconds(30);
constexpr size_t kMaxAllocationsAnEntry = 2000;

size_t allocations_in(const Plan& plan) {
  size_t count = plan.placed.size();
  for (const auto& [node, deltas] : plan.changed) count += deltas.size();
  return count;
}

PlanState::Source source_of(std::shared_ptr<const ReadView> view, const Tables& tables) {
  return {
      .node = [view, &tables](const std::string& id) { return Table<v1::Node>(tables.nodes).get(*view, id); },
      .allocs = [view, &tables](const std::string& id) { return tables.allocs.list(*view, kAllocsByNode, of_id(id)); },
      .alloc = [view, &tables](const std::string& id) { return tables.allocs.get(*view, id); }};
}

}  // namespace

Result<PlanApplier::Outcome> PlanApplier::submit(Plan plan, const Delivery& delivery, std::stop_token stop) {
  auto pending = std::make_shared<Pending>(Pending{.plan = std::move(plan),
                                                   .eval_id = delivery.eval.id(),
                                                   .token = delivery.token,
                                                   .priority = delivery.eval.priority(),
                                                   .outcome = {}});
  MutexLock lock(mutex_);
  queue_.push_back(pending);
  host_.metrics().set("nomad.nomad.plan.queue_depth", static_cast<double>(queue_.size()));
  waiting_.notify_one();
  if (!answered_.wait(lock, stop, [&]() DROVER_REQUIRES(mutex_) { return pending->outcome.has_value(); })) {
    std::erase(queue_, pending);
    return cancelled("this server no longer leads");
  }
  return *std::move(pending->outcome);
}

PlanApplier::Batch PlanApplier::take_batch(std::stop_token stop) {
  MutexLock lock(mutex_);
  if (!waiting_.wait(lock, stop, [&]() DROVER_REQUIRES(mutex_) { return !queue_.empty(); })) return {};
  std::ranges::stable_sort(queue_, std::greater<>(), [](const auto& pending) { return pending->priority; });
  Batch batch;
  size_t allocations = 0;
  auto at = queue_.begin();
  for (; at != queue_.end() && (batch.empty() || allocations < kMaxAllocationsAnEntry); ++at) {
    allocations += allocations_in((*at)->plan);
    batch.push_back(std::move(*at));
  }
  queue_.erase(queue_.begin(), at);
  host_.metrics().set("nomad.nomad.plan.queue_depth", static_cast<double>(queue_.size()));
  return batch;
}

void PlanApplier::answer(Pending& pending, Result<Outcome> outcome) {
  MutexLock lock(mutex_);
  pending.outcome = std::move(outcome);
  answered_.notify_all();
}

void PlanApplier::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    const Batch batch = take_batch(stop);
    if (!batch.empty()) apply(batch);
  }
}

void PlanApplier::note_refused(const CheckedPlan& checked) {
  if (checked.full()) return;
  host_.metrics().add("nomad.nomad.plan.node_rejected", static_cast<double>(checked.refused.size()));
  for (const CheckedPlan::Refusal& refusal : checked.refused) {
    const std::string node = Uuid::from_bytes(refusal.node_id).to_string();
    log::info("scheduler", "a plan's part was refused", {{"node", node}, {"reason", refusal.reason}});
    if (rejections_.add(refusal.node_id, host_.clock().steady())) close(refusal.node_id);
  }
}

// The node refuses what its row says it can take.
void PlanApplier::close(const std::string& node_id) {
  v1::NodeEligibilityUpdated command;
  command.set_node_id(node_id);
  command.set_eligibility("ineligible");
  command.set_time(host_.clock().wall_ns());
  command.mutable_event()->set_message("Node marked as ineligible for scheduling due to multiple plan rejections");
  command.mutable_event()->set_subsystem("Scheduler");
  command.mutable_event()->set_timestamp(command.time());
  const Status status = host_.propose(command, host_.clock().steady() + kProposeTime).status();
  log::warn("scheduler", status.ok() ? "closed a node for new work: it refused too many plans" : "cannot close a node",
            {{"node", Uuid::from_bytes(node_id).to_string()}, {"error", status.message()}});
}

void PlanApplier::apply(const Batch& batch) {
  const SteadyTime began = host_.clock().steady();
  const uint64_t term = host_.term();  // before the snapshot: a plan that passes on it is for this leadership only
  const auto view = host_.snapshot();
  PlanState state(source_of(view, tables_));
  v1::PlanApplied command;
  std::vector<std::pair<Pending*, Outcome>> outcomes;
  for (const auto& pending : batch) {
    if (!evals_.extend(pending->eval_id, pending->token)) {
      answer(*pending, aborted("the evaluation was given to another worker"));
      continue;
    }
    CheckedPlan checked = check_plan(std::move(pending->plan), state);
    note_refused(checked);
    const Plan& plan = checked.plan;
    for (const v1::Allocation& alloc : plan.placed) *command.add_placed() = alloc;
    for (const auto& [node, deltas] : plan.changed) {
      for (const v1::AllocationDelta& delta : deltas) *command.add_changed() = delta;
    }
    for (const v1::Evaluation& eval : plan.evaluations) *command.add_evaluations() = eval;
    for (const v1::Deployment& deployment : plan.deployments) *command.add_deployments() = deployment;
    for (const v1::DeploymentStatusUpdate& update : plan.deployment_updates) *command.add_deployment_updates() = update;
    outcomes.emplace_back(pending.get(), Outcome{.full = checked.full(), .progress = !plan.empty(), .index = 0});
  }
  host_.metrics().observe("nomad.nomad.plan.evaluate", host_.clock().steady() - began);
  Status status;
  uint64_t index = view->index();
  if (command.ByteSizeLong() > 0) {
    command.set_time(host_.clock().wall_ns());
    const SteadyTime proposed = host_.clock().steady();
    auto applied = host_.propose(command, proposed + kProposeTime, term);
    status = applied.status();
    if (applied) index = applied->index;
    host_.metrics().observe("nomad.nomad.plan.apply", host_.clock().steady() - proposed);
  }
  if (!status.ok()) log::warn("scheduler", "a plan was not applied", {{"error", status.message()}});
  for (auto& [pending, outcome] : outcomes) {
    outcome.index = index;
    if (status.ok()) {
      answer(*pending, outcome);
    } else {
      answer(*pending, status);
    }
  }
}

}  // namespace drover::scheduler
