#include "system_scheduler.h"

#include <algorithm>
#include <utility>

#include "descriptions.h"
#include "drover/model/job.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/trial.pb.h"
#include "follow_ups.h"
#include "placed.h"
#include "system_diff.h"
#include "volumes/coming_claims.h"

namespace drover::scheduler {
namespace {

class SystemEvaluation {
 public:
  SystemEvaluation(const Scheduler::Input& input, Board& board, bool is_sysbatch)
      : input_(input),
        job_(input.job),
        board_(board),
        is_sysbatch_(is_sysbatch),
        changes_(decision_.plan, input, board) {
    allocs_.reserve(input.allocs.size());
    for (const v1::Allocation& alloc : input.allocs) allocs_.emplace(alloc.id(), &alloc);
  }

  Scheduler::Decision run() {
    const SystemDiff wanted = system_diff(diff_input());
    decision_.plan.all_at_once = job_ && job_->all_at_once();
    for (const auto& [name, group] : wanted.groups) change_existing(name, group);
    FollowUps follow_ups(input_, changes_);
    for (const auto& [name, group] : wanted.groups) {
      place_group(name, group);
      follow_ups.add(group.unknown, "max-disconnect-timeout", "created for delayed disconnect timeout");
    }
    follow_ups.write(allocs_);
    if (storage_wait_.only_storage) decision_.waits.push_back(std::move(storage_wait_));
    if (wanted.more_later) {
      changes_.evaluate_at(input_.now + job_->update().stagger(), "rolling-update", "");
    }
    return std::move(decision_);
  }

 private:
  SystemInput diff_input() const {
    SystemInput diff{.job = job_, .is_sysbatch = is_sysbatch_, .allocs = input_.allocs};
    if (job_ && !job_->stop()) {
      board_.visit_nodes([&](const v1::Node& node) {
        if (board_.accepts_work(node) && board_.reaches(node, *job_)) diff.nodes.insert(node.id());
      });
    }
    diff.node_status = [this](const std::string& id) {
      const v1::Node* node = board_.node(id);
      return node ? node->status() : v1::NODE_STATUS_UNSPECIFIED;
    };
    diff.in_reach = [this](const std::string& id) {
      const v1::Node* node = board_.node(id);
      return node && board_.reaches(*node, *job_);
    };
    diff.version = input_.version;
    diff.may_stay = [this](const v1::Allocation& alloc, const v1::TaskGroup& group) {
      const v1::Node* node = board_.node(alloc.node_id());
      return node && board_.suits(*node, *job_, group, alloc.name());
    };
    diff.now = input_.now;
    return diff;
  }

  void change_existing(const std::string& name, const SystemGroupPlan& group) {
    for (const Stop& one : group.stops) changes_.stop(*allocs_.at(one.alloc_id), one.description, one.client_status);
    for (const Later& one : group.unknown) changes_.lose_sight(*allocs_.at(one.alloc_id));
    for (const std::string& id : group.reconnected) changes_.reconnect(*allocs_.at(id));
    for (const std::string& id : group.in_place) {
      v1::AllocationDelta& delta = changes_.change(*allocs_.at(id));
      delta.set_desired_description(kInPlace);
      delta.set_job_version(job_->version());
    }
    const bool wanted_now = job_ && !job_->stop() && find_group(*job_, name);
    if (wanted_now || group.desired.stop() > 0) decision_.desired[name] = group.desired;
  }

  void place_group(const std::string& name, const SystemGroupPlan& wanted) {
    const v1::TaskGroup* group = job_ ? find_group(*job_, name) : nullptr;
    if (!group || job_->stop()) return;
    decision_.queued[name] = 0;
    if (wanted.placements.empty()) return;
    const auto placer = board_.open(*job_, *group);
    v1::AllocMetric unfit;
    const bool waits_for_storage = wants_storage(*group);
    bool was_noted = false;
    for (const SystemPlacement& placement : wanted.placements) {
      if (place(*group, placement, *placer)) continue;
      const v1::AllocMetric& failure = placer->failure();
      if (failure.nodes_filtered() > 0 && failure.nodes_exhausted() == 0) {
        // A node that the job does not want is no failure, unless it wants none.
        if (waits_for_storage && !std::exchange(was_noted, true)) note_storage(*placer);
        add_filtered(failure, unfit);
        v1::DesiredUpdates& desired = decision_.desired[name];
        desired.set_place(desired.place() - std::min<uint64_t>(desired.place(), 1));
        continue;
      }
      ++decision_.queued[name];
      add_failure(*group, failure, decision_.failed);
      RoomWait wait{.node_id = placement.node_id};
      placer->describe(wait);
      decision_.waits.push_back(std::move(wait));
    }
    const bool all_filtered = static_cast<size_t>(unfit.nodes_filtered()) == wanted.placements.size();
    if (all_filtered && wanted.desired.ignore() + wanted.desired.in_place_update() == 0) {
      decision_.failed.try_emplace(name, unfit);
    }
  }

  // Storage that is not there yet is waited for once, for all nodes.
  void note_storage(const GroupPlacer& placer) {
    RoomWait wait;
    placer.describe(wait);
    if (!wait.only_storage.value_or(false)) return;
    storage_wait_.only_storage = true;
    storage_wait_.volumes.merge(wait.volumes);
    storage_wait_.plugins.merge(wait.plugins);
  }

  // Adds the metric of one node to that of all.
  static void add_filtered(const v1::AllocMetric& one, v1::AllocMetric& all) {
    all.set_nodes_evaluated(all.nodes_evaluated() + 1);
    all.set_nodes_filtered(all.nodes_filtered() + 1);
    *all.mutable_nodes_available() = one.nodes_available();
    for (const auto& [reason, count] : one.constraint_filtered()) (*all.mutable_constraint_filtered())[reason] += count;
    for (const auto& [name, count] : one.class_filtered()) (*all.mutable_class_filtered())[name] += count;
  }

  bool place(const v1::TaskGroup& group, const SystemPlacement& wanted, GroupPlacer& placer) {
    const v1::Allocation* previous = wanted.previous.empty() ? nullptr : allocs_.at(wanted.previous);
    const bool stops = !wanted.stop_previous.empty();
    if (stops) board_.leave(*previous);
    v1::Allocation alloc;
    alloc.set_id(input_.new_id());
    alloc.set_name(wanted.name);
    if (!placer.place(alloc, {.only_node = wanted.node_id})) {
      if (stops) board_.come_back(*previous);
      return false;
    }
    if (stops) {
      v1::AllocationDelta& delta = changes_.change(*previous);
      delta.set_desired_status(v1::DESIRED_STATUS_STOP);
      delta.set_desired_description(wanted.stop_previous);
    }
    count_evicted(placer.evicted().size(), decision_.desired[group.name()]);
    changes_.evict(placer.evicted(), alloc);
    describe_placed(*job_, group, wanted.name, input_, alloc);
    alloc.set_previous_allocation(wanted.previous);
    decision_.plan.placed.push_back(std::move(alloc));
    return true;
  }

  const Scheduler::Input& input_;
  const v1::Job* job_;
  Board& board_;
  const bool is_sysbatch_;
  AllocIndex allocs_;
  RoomWait storage_wait_;  // of nodes that lack nothing else
  Scheduler::Decision decision_;
  Changes changes_;
};

}  // namespace

Scheduler::Decision SystemScheduler::decide(const Input& input, Board& board) const {
  return SystemEvaluation(input, board, is_sysbatch_).run();
}

}  // namespace drover::scheduler
