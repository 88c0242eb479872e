#include "generic_scheduler.h"

#include <algorithm>

#include "descriptions.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "reconcile.h"

namespace drover::scheduler {
namespace {

// Failed allocations due within this of each other share one evaluation.
constexpr int64_t kLaterWindow = 5'000'000'000;

// Adds up, by task and over instances, the resources that a group without a place lacks.
void add_missing(const v1::TaskGroup& group, v1::AllocMetric& metric) {
  const bool lacks_cpu = metric.dimension_exhausted().contains("cpu");
  const bool lacks_memory = metric.dimension_exhausted().contains("memory");
  if (metric.dimension_exhausted().empty()) return;
  for (const v1::Task& task : group.tasks()) {
    v1::Resources& missing = (*metric.mutable_resources_exhausted())[task.name()];
    missing.set_cpu(missing.cpu() + (lacks_cpu ? task.resources().cpu() : 0));
    missing.set_memory_mb(missing.memory_mb() + (lacks_memory ? task.resources().memory_mb() : 0));
    missing.set_cores(0);
    missing.set_memory_max_mb(0);
    missing.set_disk_mb(0);
    missing.set_iops(0);
  }
}

class Evaluation {
 public:
  Evaluation(const Scheduler::Input& input, Board& board, bool is_batch)
      : input_(input), job_(input.job), board_(board), is_batch_(is_batch) {
    for (const v1::Allocation& alloc : input.allocs) allocs_[alloc.id()] = &alloc;
  }

  Scheduler::Decision run() {
    const Reconciled wanted = reconcile(reconcile_input());
    decision_.plan.all_at_once = job_ && job_->all_at_once();
    for (const auto& [name, group] : wanted.groups) {
      for (const Stop& stop : group.stops) add_stop(stop);
      for (const std::string& id : group.in_place) update_in_place(id);
      const bool wanted_now = job_ && !job_->stop() && find_group(*job_, name);
      if (wanted_now || group.desired.stop() > 0) decision_.desired[name] = group.desired;
    }
    std::vector<Later> later;
    std::optional<int64_t> recheck;
    for (const auto& [name, group] : wanted.groups) {
      place_group(name, group);
      later.insert(later.end(), group.later.begin(), group.later.end());
      if (group.recheck_at) recheck = std::min(recheck.value_or(*group.recheck_at), *group.recheck_at);
    }
    if (!decision_.failed.empty()) decision_.waits.push_back(std::move(wait_));
    follow_up(std::move(later));
    if (recheck) evaluate_at(*recheck, "rolling-update", "created for the next step of a rolling update");
    return std::move(decision_);
  }

 private:
  ReconcileInput reconcile_input() const {
    return {.job = job_,
            .is_batch = is_batch_,
            .allocs = input_.allocs,
            .node_status =
                [this](const std::string& id) {
                  const v1::Node* node = board_.node(id);
                  return node ? node->status() : v1::NODE_STATUS_UNSPECIFIED;
                },
            .version = input_.version,
            .may_stay =
                [this](const v1::Allocation& alloc, const v1::TaskGroup& group) {
                  const v1::Node* node = board_.node(alloc.node_id());
                  return node && board_.suits(*node, *job_, group);
                },
            .now = input_.now,
            .eval_id = input_.eval.id()};
  }

  v1::AllocationDelta& change(const v1::Allocation& alloc) {
    v1::AllocationDelta& delta = decision_.plan.changed[alloc.node_id()].emplace_back();
    delta.set_id(alloc.id());
    return delta;
  }

  void add_stop(const Stop& stop) {
    const v1::Allocation& alloc = *allocs_.at(stop.alloc_id);
    v1::AllocationDelta& delta = change(alloc);
    delta.set_desired_status(v1::DESIRED_STATUS_STOP);
    delta.set_desired_description(stop.description);
    delta.set_client_status(stop.client_status);
    board_.leave(alloc);
  }

  void update_in_place(const std::string& id) {
    v1::AllocationDelta& delta = change(*allocs_.at(id));
    delta.set_desired_description(kInPlace);
    delta.set_job_version(job_->version());
  }

  void place_group(const std::string& name, const GroupPlan& wanted) {
    const v1::TaskGroup* group = job_ ? find_group(*job_, name) : nullptr;
    if (!group || job_->stop()) return;
    decision_.queued[name] = 0;
    if (wanted.destructive.empty() && wanted.placements.empty()) return;
    const auto placer = board_.open(*job_, *group);
    for (const Placement& placement : wanted.destructive) place(*group, placement, *placer);
    for (const Placement& placement : wanted.placements) place(*group, placement, *placer);
    if (decision_.failed.contains(name)) placer->describe(wait_);
  }

  void place(const v1::TaskGroup& group, const Placement& wanted, GroupPlacer& placer) {
    const v1::Allocation* previous = wanted.previous.empty() ? nullptr : allocs_.at(wanted.previous);
    const bool stops = !wanted.stop_previous.empty();
    if (stops) board_.leave(*previous);
    v1::Allocation alloc;
    alloc.set_id(input_.new_id());
    if (!placer.place(alloc, {.penalised = wanted.penalised})) {
      if (stops) board_.come_back(*previous);
      ++decision_.queued[group.name()];
      auto [failed, first] = decision_.failed.try_emplace(group.name(), placer.failure());
      if (!first) failed->second.set_coalesced_failures(failed->second.coalesced_failures() + 1);
      add_missing(group, failed->second);
      return;
    }
    if (stops) {
      v1::AllocationDelta& delta = change(*previous);
      delta.set_desired_status(v1::DESIRED_STATUS_STOP);
      delta.set_desired_description(wanted.stop_previous);
    }
    alloc.set_namespace_(job_->namespace_());
    alloc.set_eval_id(input_.eval.id());
    alloc.set_name(wanted.name);
    alloc.set_job_id(job_->id());
    alloc.set_job_version(job_->version());
    alloc.set_job_create_index(job_->create_index());
    alloc.set_task_group(group.name());
    alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
    alloc.set_client_status(v1::CLIENT_STATUS_PENDING);
    alloc.set_previous_allocation(wanted.previous);
    if (wanted.tracker.events_size() > 0) *alloc.mutable_reschedule_tracker() = wanted.tracker;
    decision_.plan.placed.push_back(std::move(alloc));
  }

  void follow_up(std::vector<Later> later) {
    std::ranges::sort(later, {}, [](const Later& one) { return std::tie(one.due, one.alloc_id); });
    std::vector<v1::Evaluation>& evaluations = decision_.plan.evaluations;
    for (const Later& one : later) {
      if (evaluations.empty() || one.due - evaluations.back().wait_until() >= kLaterWindow) {
        evaluate_at(one.due, "alloc-failure", "created for delayed rescheduling");
      }
      change(*allocs_.at(one.alloc_id)).set_followup_eval_id(evaluations.back().id());
    }
  }

  void evaluate_at(int64_t when, const char* trigger, const char* why) {
    v1::Evaluation& eval = decision_.plan.evaluations.emplace_back();
    eval = new_evaluation(input_.new_id(), *job_, trigger);
    eval.set_priority(input_.eval.priority());
    eval.set_status_description(why);
    eval.set_wait_until(when);
    eval.set_previous_eval(input_.eval.id());
  }

  const Scheduler::Input& input_;
  const v1::Job* job_;
  Board& board_;
  const bool is_batch_;
  std::map<std::string, const v1::Allocation*> allocs_;
  RoomWait wait_;
  Scheduler::Decision decision_;
};

}  // namespace

Scheduler::Decision GenericScheduler::decide(const Input& input, Board& board) const {
  return Evaluation(input, board, is_batch_).run();
}

}  // namespace drover::scheduler
