#include "generic_scheduler.h"

#include "descriptions.h"
#include "drover/model/deployment.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "follow_ups.h"
#include "placed.h"
#include "reconcile.h"
#include "volumes/coming_claims.h"

namespace drover::scheduler {
namespace {

class Evaluation {
 public:
  Evaluation(const Scheduler::Input& input, Board& board, bool is_batch)
      : input_(input), job_(input.job), board_(board), is_batch_(is_batch), changes_(decision_.plan, input, board) {
    allocs_.reserve(input.allocs.size());
    for (const v1::Allocation& alloc : input.allocs) allocs_.emplace(alloc.id(), &alloc);
  }

  Scheduler::Decision run() {
    const Reconciled wanted = reconcile(reconcile_input());
    decision_.plan.all_at_once = job_ && job_->all_at_once();
    take_deployment(wanted);
    for (const auto& [name, group] : wanted.groups) change_existing(name, group);
    FollowUps follow_ups(input_, changes_);
    for (const auto& [name, group] : wanted.groups) {
      place_group(name, group);
      follow_ups.add(group.later, "alloc-failure", "created for delayed rescheduling");
      follow_ups.add(group.lost_later, "alloc-failure", "created for delayed rescheduling");
      follow_ups.add(group.unknown, "max-disconnect-timeout", "created for delayed disconnect timeout");
    }
    const bool follows = follow_ups.write(allocs_);
    // What is tried again by the clock needs no room to wait for, unless the clock was heard already.
    if (!decision_.failed.empty() && (!follows || input_.eval.wait_until() != 0)) {
      decision_.waits.push_back(std::move(wait_));
    }
    return std::move(decision_);
  }

 private:
  ReconcileInput reconcile_input() const {
    return {.job = job_,
            .is_batch = is_batch_,
            .allocs = input_.allocs,
            .deploys = input_.deployments != nullptr,
            .deployment = newest_deployment(),
            .node_status =
                [this](const std::string& id) {
                  const v1::Node* node = board_.node(id);
                  return node ? node->status() : v1::NODE_STATUS_UNSPECIFIED;
                },
            .version = input_.version,
            .may_stay =
                [this](const v1::Allocation& alloc, const v1::TaskGroup& group) {
                  const v1::Node* node = board_.node(alloc.node_id());
                  return node && board_.suits(*node, *job_, group, alloc.name());
                },
            .now = input_.now,
            .eval_id = input_.eval.id(),
            .eval_priority = input_.eval.priority()};
  }

  const v1::Deployment* newest_deployment() const {
    return !input_.deployments || input_.deployments->empty() ? nullptr : &input_.deployments->front();
  }

  void take_deployment(const Reconciled& wanted) {
    if (wanted.deployment_status != v1::DEPLOYMENT_STATUS_UNSPECIFIED) {
      v1::DeploymentStatusUpdate& update = decision_.plan.deployment_updates.emplace_back();
      update.set_deployment_id(newest_deployment()->id());
      update.set_status(wanted.deployment_status);
      update.set_description(wanted.deployment_description);
    } else if (const v1::Deployment* newest = newest_deployment(); newest && is_active(*newest)) {
      deployment_id_ = newest->id();
    }
    if (wanted.deployment) {
      v1::Deployment& created = decision_.plan.deployments.emplace_back(*wanted.deployment);
      created.set_id(input_.new_id());
      deployment_id_ = created.id();
    }
    decision_.deployment_id = deployment_id_;
  }

  void change_existing(const std::string& name, const GroupPlan& group) {
    for (const Stop& one : group.stops) changes_.stop(*allocs_.at(one.alloc_id), one.description, one.client_status);
    for (const Later& one : group.unknown) changes_.lose_sight(*allocs_.at(one.alloc_id));
    for (const std::string& id : group.reconnected) changes_.reconnect(*allocs_.at(id));
    for (const std::string& id : group.in_place) {
      v1::AllocationDelta& delta = changes_.change(*allocs_.at(id));
      delta.set_desired_description(kInPlace);
      delta.set_job_version(job_->version());
      delta.set_deployment_id(deployment_id_);
    }
    const bool wanted_now = job_ && !job_->stop() && find_group(*job_, name);
    if (wanted_now || group.desired.stop() > 0) decision_.desired[name] = group.desired;
  }

  void place_group(const std::string& name, const GroupPlan& wanted) {
    const v1::TaskGroup* group = job_ ? find_group(*job_, name) : nullptr;
    if (!group || job_->stop()) return;
    decision_.queued[name] = 0;
    if (wanted.destructive.empty() && wanted.placements.empty()) return;
    const auto placer = board_.open(*job_, *group);
    for (const Placement& placement : wanted.destructive) place(*job_, *group, placement, *placer, deployment_id_);
    for (const Placement& placement : wanted.placements) {
      if (placement.old_version) {
        place_old_version(*group, placement, *placer);
      } else {
        place(*job_, *group, placement, *placer, deployment_id_);
      }
    }
    if (decision_.failed.contains(name) && !has_own_volumes(*group)) placer->describe(wait_);
  }

  // Canaries are being judged: another allocation takes the newest version that was promoted or needed no promotion;
  // else that of its predecessor, if it is from before deployments.
  void place_old_version(const v1::TaskGroup& group, const Placement& placement, GroupPlacer& placer) {
    for (const v1::Deployment& deployment : *input_.deployments) {
      const auto state = deployment.task_groups().find(group.name());
      if (deployment.job_create_index() != job_->create_index() || state == deployment.task_groups().end()) continue;
      if (!state->second.promoted() && state->second.desired_canaries() > 0) continue;
      if (deployment.job_version() < *placement.old_version) break;
      if (place_version(deployment.job_version(), group, placement, deployment.id())) return;
      break;
    }
    const v1::Job* before = input_.version(*placement.old_version);
    if (before && !before->has_update() && place_version(before->version(), group, placement, "")) return;
    place(*job_, group, placement, placer, deployment_id_);
  }

  // False when that version is no longer known.
  bool place_version(uint64_t version, const v1::TaskGroup& group, const Placement& placement,
                     const std::string& deployment_id) {
    const v1::Job* job = input_.version(version);
    const v1::TaskGroup* old = job ? find_group(*job, group.name()) : nullptr;
    if (!old) return false;
    const auto placer = board_.open(*job, *old);
    place(*job, *old, placement, *placer, deployment_id);
    return true;
  }

  void place(const v1::Job& job, const v1::TaskGroup& group, const Placement& wanted, GroupPlacer& placer,
             const std::string& deployment_id) {
    const bool has_own = has_own_volumes(group);
    if (const auto failed = decision_.failed.find(group.name()); failed != decision_.failed.end() && !has_own) {
      // Where one of the group found no place, the next finds none either.
      ++decision_.queued[group.name()];
      add_failure(group, failed->second, decision_.failed);
      return;
    }
    const v1::Allocation* previous = wanted.previous.empty() ? nullptr : allocs_.at(wanted.previous);
    const bool stops = !wanted.stop_previous.empty();
    if (stops) board_.leave(*previous);
    v1::Allocation alloc;
    alloc.set_id(input_.new_id());
    alloc.set_name(wanted.name);
    GroupPlacer::Wish wish{.penalised = wanted.penalised};
    if (previous && (group.ephemeral_disk().sticky() || group.ephemeral_disk().migrate())) {
      wish.preferred_node = previous->node_id();
    }
    if (!placer.place(alloc, wish)) {
      if (stops) board_.come_back(*previous);
      if (has_own) placer.describe(wait_);  // another may lack other volumes
      ++decision_.queued[group.name()];
      add_failure(group, placer.failure(), decision_.failed);
      return;
    }
    if (stops) {
      v1::AllocationDelta& delta = changes_.change(*previous);
      delta.set_desired_status(v1::DESIRED_STATUS_STOP);
      delta.set_desired_description(wanted.stop_previous);
    }
    count_evicted(placer.evicted().size(), decision_.desired[group.name()]);
    changes_.evict(placer.evicted(), alloc);
    describe_placed(job, group, wanted.name, input_, alloc);
    alloc.set_previous_allocation(wanted.previous);
    alloc.set_deployment_id(deployment_id);
    if (wanted.is_canary && !deployment_id.empty()) alloc.mutable_deployment_status()->set_canary(true);
    if (wanted.tracker.events_size() > 0) *alloc.mutable_reschedule_tracker() = wanted.tracker;
    decision_.plan.placed.push_back(std::move(alloc));
  }

  const Scheduler::Input& input_;
  const v1::Job* job_;
  Board& board_;
  const bool is_batch_;
  AllocIndex allocs_;
  std::string deployment_id_;  // of the deployment under way; empty: there is none
  RoomWait wait_;
  Scheduler::Decision decision_;
  Changes changes_;
};

}  // namespace

Scheduler::Decision GenericScheduler::decide(const Input& input, Board& board) const {
  return Evaluation(input, board, is_batch_).run();
}

}  // namespace drover::scheduler
