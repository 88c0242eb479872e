#include "evaluate.h"

#include <algorithm>

#include "alloc_state.h"
#include "constraint.h"

namespace drover::scheduler {
namespace {

// Failed allocations due within this of each other share one evaluation.
constexpr int64_t kLaterWindow = 5'000'000'000;

// What a group that found no place lacks, by task; adds up over its instances.
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
  explicit Evaluation(EvaluateInput input) : input_(std::move(input)), job_(input_.state.job) {
    for (const v1::Allocation& alloc : input_.state.allocs) allocs_[alloc.id()] = &alloc;
  }

  Decision run() {
    input_.state.eval_id = input_.eval.id();
    input_.state.node_status = [this](const std::string& id) {
      const v1::Node* node = input_.cluster.find(id);
      return node ? node->status() : v1::NODE_STATUS_UNSPECIFIED;
    };
    input_.state.may_stay = [this](const v1::Allocation& alloc, const v1::TaskGroup& group) {
      const v1::Node* node = input_.cluster.find(alloc.node_id());
      return node && in_reach(*job_, *node) && Feasibility(*job_, group).check(*node).empty();
    };
    const Reconciled wanted = reconcile(input_.state);
    Plan& plan = decision_.plan;
    plan.eval_id = input_.eval.id();
    plan.priority = input_.eval.priority();
    plan.all_at_once = job_ && job_->all_at_once();
    for (const auto& [name, group] : wanted.groups) {
      for (const Stop& stop : group.stops) add_stop(stop);
      for (const std::string& id : group.in_place) update_in_place(id);
      const bool wanted_now = job_ && !job_->stop() && find_group(*job_, name);
      if (wanted_now || group.desired.stop() > 0) decision_.desired[name] = group.desired;
    }
    for (const v1::Allocation& alloc : input_.state.allocs) {
      if (!terminal(alloc) && !stopped_.contains(alloc.id())) add_neighbour(alloc);
    }
    std::vector<Later> later;
    std::optional<int64_t> recheck;
    for (const auto& [name, group] : wanted.groups) {
      place_group(name, group);
      later.insert(later.end(), group.later.begin(), group.later.end());
      if (group.recheck_at) recheck = std::min(recheck.value_or(*group.recheck_at), *group.recheck_at);
    }
    follow_up(std::move(later));
    if (recheck) evaluate_at(*recheck, "rolling-update", "created for the next step of a rolling update");
    return std::move(decision_);
  }

 private:
  v1::AllocationDelta& change(const v1::Allocation& alloc) {
    Plan::Change& change = decision_.plan.changed.emplace_back();
    change.node_id = alloc.node_id();
    change.delta.set_id(alloc.id());
    return change.delta;
  }

  void add_stop(const Stop& stop) {
    const v1::Allocation& alloc = *allocs_.at(stop.alloc_id);
    v1::AllocationDelta& delta = change(alloc);
    delta.set_desired_status(v1::DESIRED_STATUS_STOP);
    delta.set_desired_description(stop.description);
    delta.set_client_status(stop.client_status);
    if (!terminal(alloc)) input_.cluster.remove(alloc.node_id(), alloc.allocated_resources());
    stopped_.insert(alloc.id());
  }

  void update_in_place(const std::string& id) {
    v1::AllocationDelta& delta = change(*allocs_.at(id));
    delta.set_desired_description(kInPlace);
    delta.set_job_version(job_->version());
  }

  void add_neighbour(const v1::Allocation& alloc) {
    neighbours_.push_back({input_.cluster.find(alloc.node_id()), alloc.task_group()});
  }

  // Takes the allocation off its node while a replacement is looked for, and puts it back when there is none.
  void leave(const v1::Allocation& alloc, Placer& placer) {
    if (terminal(alloc)) return;
    input_.cluster.remove(alloc.node_id(), alloc.allocated_resources());
    auto at = std::ranges::find_if(neighbours_, [&](const Neighbour& neighbour) {
      return neighbour.node && neighbour.node->id() == alloc.node_id() && neighbour.group == alloc.task_group();
    });
    if (at != neighbours_.end()) neighbours_.erase(at);
    placer.changed(alloc.node_id());
  }
  void come_back(const v1::Allocation& alloc, Placer& placer) {
    if (terminal(alloc)) return;
    input_.cluster.add(alloc.node_id(), alloc.allocated_resources());
    add_neighbour(alloc);
    placer.changed(alloc.node_id());
  }

  void place_group(const std::string& name, const GroupPlan& wanted) {
    const v1::TaskGroup* group = job_ ? find_group(*job_, name) : nullptr;
    if (!group || job_->stop()) return;
    decision_.queued[name] = 0;
    if (wanted.destructive.empty() && wanted.placements.empty()) return;
    Placer placer(input_.cluster, *job_, *group, neighbours_, input_.eval.id());
    for (const Placement& placement : wanted.destructive) place(*group, placement, placer);
    for (const Placement& placement : wanted.placements) place(*group, placement, placer);
    if (decision_.failed.contains(name)) note_classes(placer.feasibility());
  }

  void place(const v1::TaskGroup& group, const Placement& wanted, Placer& placer) {
    const v1::Allocation* previous = wanted.previous.empty() ? nullptr : allocs_.at(wanted.previous);
    const bool stops = !wanted.stop_previous.empty();
    if (stops) leave(*previous, placer);
    const std::string id = input_.new_id();
    auto choice = placer.place(id, wanted.penalised);
    if (!choice) {
      if (stops) come_back(*previous, placer);
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
      stopped_.insert(previous->id());
    }
    v1::Allocation& alloc = decision_.plan.placed.emplace_back();
    alloc.set_id(id);
    alloc.set_namespace_(job_->namespace_());
    alloc.set_eval_id(input_.eval.id());
    alloc.set_name(wanted.name);
    alloc.set_node_id(choice->node->id());
    alloc.set_node_name(choice->node->name());
    alloc.set_job_id(job_->id());
    alloc.set_job_version(job_->version());
    alloc.set_job_create_index(job_->create_index());
    alloc.set_task_group(group.name());
    *alloc.mutable_allocated_resources() = std::move(choice->resources);
    *alloc.mutable_metrics() = std::move(choice->metric);
    alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
    alloc.set_client_status(v1::CLIENT_STATUS_PENDING);
    alloc.set_previous_allocation(wanted.previous);
    if (wanted.tracker.events_size() > 0) *alloc.mutable_reschedule_tracker() = wanted.tracker;
  }

  void note_classes(const Feasibility& feasibility) {
    decision_.escaped = decision_.escaped || feasibility.escaped();
    for (const auto& [name, reason] : feasibility.classes()) {
      bool& eligible = decision_.class_eligibility[name];
      eligible = eligible || reason.empty();
    }
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
    eval.set_id(input_.new_id());
    eval.set_namespace_(job_->namespace_());
    eval.set_priority(input_.eval.priority());
    eval.set_type(job_->type());
    eval.set_triggered_by(trigger);
    eval.set_job_id(job_->id());
    eval.set_job_modify_index(job_->job_modify_index());
    eval.set_status(v1::EVAL_STATUS_PENDING);
    eval.set_status_description(why);
    eval.set_wait_until(when);
    eval.set_previous_eval(input_.eval.id());
  }

  EvaluateInput input_;
  const v1::Job* job_;
  std::map<std::string, const v1::Allocation*> allocs_;
  std::set<std::string> stopped_;
  std::vector<Neighbour> neighbours_;
  Decision decision_;
};

}  // namespace

Decision evaluate(EvaluateInput input) { return Evaluation(std::move(input)).run(); }

v1::Evaluation blocked_after(const v1::Evaluation& eval, std::string id, std::string trigger, std::string description) {
  v1::Evaluation blocked;
  blocked.set_id(std::move(id));
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

void describe_wait(const Decision& decision, uint64_t snapshot_index, v1::Evaluation& blocked) {
  blocked.clear_class_eligibility();
  for (const auto& [name, eligible] : decision.class_eligibility) {
    (*blocked.mutable_class_eligibility())[name] = eligible;
  }
  blocked.set_escaped_computed_class(decision.escaped);
  blocked.set_snapshot_index(snapshot_index);
}

v1::Evaluation waiting_for_room(const v1::Evaluation& eval, const Decision& decision, uint64_t snapshot_index,
                                std::string id) {
  v1::Evaluation blocked =
      blocked_after(eval, std::move(id), "queued-allocs", "created to place remaining allocations");
  describe_wait(decision, snapshot_index, blocked);
  return blocked;
}

}  // namespace drover::scheduler
