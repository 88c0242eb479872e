#include "watcher.h"

#include <algorithm>
#include <chrono>

#include "commands.h"
#include "deployments.pb.h"
#include "drover/log.h"
#include "drover/paced_changes.h"
#include "drover/schema.h"
#include "drover/v1/evaluation.pb.h"

namespace drover::deployments {
namespace {

using namespace std::chrono_literals;

constexpr auto kMergeWithin = 250ms;
constexpr auto kEvaluateEvery = 1s;
constexpr auto kRetryAfter = 1s;
constexpr auto kProposeTime = 10s;
constexpr auto kFeedWait = 10s;

// The log index up to which the job's evaluations have seen its allocations, or will once they run.
uint64_t evaluated_index(const v1::Deployment& deployment, TableId evals, const ReadView& view) {
  uint64_t newest = 0;
  Table<v1::Evaluation>(evals).scan(view, kEvalsByJob, of_job(deployment.namespace_(), deployment.job_id()),
                                    [&](v1::Evaluation& eval, std::string_view) {
                                      if (eval.status() == v1::EVAL_STATUS_CANCELED) return true;
                                      const uint64_t seen =
                                          eval.snapshot_index() > 0 ? eval.snapshot_index() : eval.create_index();
                                      newest = std::max(newest, seen);
                                      return true;
                                    });
  return newest;
}

}  // namespace

void Watcher::run(std::stop_token stop) {
  // The entries that former leaders committed must be seen before anything is decided.
  const auto current = host_.snapshot_at(host_.raft().last_index, host_.clock().steady() + kProposeTime, stop);
  if (!current) log::warn("deployments", "starts behind the log", {{"error", current.status().message()}});
  while (!stop.stop_requested()) follow(stop);
}

// Follows from one snapshot until the feed falls behind, or to the end.
void Watcher::follow(std::stop_token stop) {
  auto [view, changes] = host_.follow({tables_.deployments.id(), tables_.allocs});
  PacedChanges feed(std::move(changes));
  restore(*view);
  view.reset();
  while (!stop.stop_requested()) {
    const auto event = feed.next(next_look(), stop);
    if (std::holds_alternative<ChangeSubscription::Resync>(event)) return;
    if (const auto* batch = std::get_if<std::shared_ptr<const ChangeBatch>>(&event)) {
      for (const Change& change : (*batch)->changes()) take(change);
    }
    if (!stop.stop_requested()) look(host_.clock().steady());
  }
}

void Watcher::restore(const ReadView& view) {
  due_.clear();
  tables_.deployments.scan(view, kPrimary, KeyRange::all(), [&](v1::Deployment& deployment, std::string_view) {
    if (is_active(deployment)) due_.by(deployment.id(), host_.clock().steady() + kMergeWithin);
    return true;
  });
}

void Watcher::take(const Change& change) {
  if (!change.after) return;
  const SteadyTime soon = host_.clock().steady() + kMergeWithin;
  if (change.table == tables_.deployments.id()) {
    const auto& deployment = change.after->as<v1::Deployment>();
    if (is_active(deployment)) {
      due_.by(deployment.id(), soon);
    } else {
      due_.forget(deployment.id());
    }
  } else if (change.table == tables_.allocs) {
    const auto& alloc = change.after->as<v1::Allocation>();
    if (!alloc.deployment_id().empty() && alloc.deployment_status().has_healthy())
      due_.by(alloc.deployment_id(), soon);
  }
}

SteadyTime Watcher::next_look() const {
  const SteadyTime last = host_.clock().steady() + kFeedWait;
  return std::min(due_.next().value_or(last), last);
}

void Watcher::look(SteadyTime now) {
  const std::vector<std::string> ready = due_.take(now);
  if (ready.empty()) return;
  std::erase_if(not_before_, [&](const auto& entry) { return entry.second <= now; });
  term_ = host_.term();
  const auto view = host_.snapshot();
  v1::AllocationsTransitioned together;
  for (const std::string& id : ready) decide(id, *view, together);
  send(together);
}

void Watcher::decide(const std::string& id, const ReadView& view, v1::AllocationsTransitioned& together) {
  Situation now;
  if (auto deployment = tables_.deployments.get(view, id)) now.deployment = *std::move(deployment);
  if (now.deployment.id().empty() || !is_active(now.deployment)) return;
  const v1::Deployment& deployment = now.deployment;
  const JobName name(deployment.namespace_(), deployment.job_id());
  now.allocs = allocs_of(deployment, tables_.allocs, view);
  now.versions = Table<v1::Job>(tables_.job_versions).list(view, kPrimary, of_job(name.first, name.second));
  now.evaluated_index = evaluated_index(deployment, tables_.evals, view);
  const auto job = Table<v1::Job>(tables_.jobs).get(view, job_key(name.first, name.second));
  const v1::Job* known = job ? &*job : nullptr;

  const int64_t wall = host_.clock().wall_ns();
  const Step step = deployment_step(now, wall);
  if (step.fail) return fail(deployment, *step.fail, known);
  if (step.promote) return promote(deployment, known);  // its change is looked at again
  if (step.evaluate) {
    const SteadyTime steady = host_.clock().steady();
    if (const auto at = not_before_.find(name); at != not_before_.end() && steady < at->second) {
      due_.by(id, at->second);
      return;
    }
    not_before_[name] = steady + kEvaluateEvery;
    for (const std::string& alloc : step.replace) together.add_alloc_ids(alloc);
    *together.add_evaluations() = evaluation_of(deployment, known);
  }
  if (step.next > 0) due_.by(id, host_.clock().steady() + std::chrono::nanoseconds(step.next - wall));
}

void Watcher::fail(const v1::Deployment& deployment, const Revert& revert, const v1::Job* job) {
  v1::DeploymentStatusChanged command;
  command.mutable_update()->set_deployment_id(deployment.id());
  command.mutable_update()->set_status(v1::DEPLOYMENT_STATUS_FAILED);
  command.mutable_update()->set_description(revert.description);
  if (revert.to) *command.mutable_revert() = registration_of(*revert.to);
  *command.mutable_evaluation() = evaluation_of(deployment, job);
  command.set_time(host_.clock().wall_ns());
  if (!propose(command, "could not fail a deployment"))
    due_.by(deployment.id(), host_.clock().steady() + kRetryAfter);
}

void Watcher::promote(const v1::Deployment& deployment, const v1::Job* job) {
  v1::DeploymentPromoted command;
  command.set_deployment_id(deployment.id());
  command.set_all(true);
  *command.mutable_evaluation() = evaluation_of(deployment, job);
  command.set_time(host_.clock().wall_ns());
  if (!propose(command, "could not promote a deployment"))
    due_.by(deployment.id(), host_.clock().steady() + kRetryAfter);
}

void Watcher::send(v1::AllocationsTransitioned& together) {
  if (together.evaluations().empty()) return;
  together.mutable_transition()->set_reschedule(true);
  together.set_time(host_.clock().wall_ns());
  if (propose(together, "could not have deployments looked at")) return;
  for (const v1::Evaluation& eval : together.evaluations())
    due_.by(eval.deployment_id(), host_.clock().steady() + kRetryAfter);
}

template <typename Command>
bool Watcher::propose(const Command& command, std::string_view what) {
  const auto applied = host_.propose(command, host_.clock().steady() + kProposeTime, term_);
  if (!applied) log::warn("deployments", std::string(what), {{"error", applied.status().message()}});
  return applied.ok();
}

}  // namespace drover::deployments
