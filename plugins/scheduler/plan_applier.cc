#include "plan_applier.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/uuid.h"
#include "packing/pack.h"
#include "scheduler.pb.h"

namespace drover::scheduler {
namespace {

constexpr auto kProposeTime = std::chrono::seconds(30);
// An entry that failed may still be in the log. It is undone once the state shows all that the log held then.
constexpr auto kUndoEvery = std::chrono::milliseconds(10);
// For plans that share an entry, while another one is under way.
constexpr auto kGatherTime = std::chrono::milliseconds(1);
constexpr size_t kEnough = 16;
// After an entry was refused in the packed form.
constexpr auto kPacksAgain = std::chrono::seconds(30);

template <typename Message>
void move_all(std::vector<Message>& from, google::protobuf::RepeatedPtrField<Message>& to) {
  for (Message& message : from) *to.Add() = std::move(message);
}

void add_to(v1::PlanApplied& command, Plan plan) {
  move_all(plan.placed, *command.mutable_placed());
  for (auto& [node, deltas] : plan.changed) move_all(deltas, *command.mutable_changed());
  move_all(plan.evaluations, *command.mutable_evaluations());
  move_all(plan.deployments, *command.mutable_deployments());
  move_all(plan.deployment_updates, *command.mutable_deployment_updates());
}

Status no_longer_leads() { return cancelled("this server no longer leads"); }

}  // namespace

void PlanApplier::submit(Submission submission) {
  MutexLock lock(inbox_->mutex);
  if (inbox_->closed) {
    lock.unlock();
    return submission.done(no_longer_leads());
  }
  inbox_->plans.push_back(std::move(submission));
  const size_t depth = inbox_->plans.size();
  const bool is_enough = depth >= inbox_->enough;
  lock.unlock();
  if (is_enough) inbox_->changed.notify_one();
  host_.metrics().set("nomad.nomad.plan.queue_depth", static_cast<double>(depth));
}

void PlanApplier::run(std::stop_token stop) {
  while (!stop.stop_requested()) carry_out(next(stop), stop);
  // Whatever the log says of these, the next leader begins with a state that shows it.
  const Status over = no_longer_leads();
  for (auto& [entry, flight] : std::exchange(flights_, {})) {
    for (Waiting& waiting : flight.waiting) waiting.done(over);
  }
  std::vector<Submission> rest;
  {
    MutexLock lock(inbox_->mutex);
    rest.swap(inbox_->plans);
    inbox_->closed = true;
  }
  for (Submission& submission : rest) submission.done(over);
}

void PlanApplier::turn(std::stop_token stop) {
  Work work;
  {
    MutexLock lock(inbox_->mutex);
    work = take_work(has_room(), stop);
  }
  carry_out(std::move(work), stop);
}

void PlanApplier::carry_out(Work work, std::stop_token stop) {
  const bool was_answered = !work.answers.empty();
  for (Answer& answer : work.answers) take(std::move(answer));
  if (was_answered || failed_ > 0) finish_undone(stop);
  if (!work.plans.empty()) apply(std::move(work.plans), stop);
}

PlanApplier::Work PlanApplier::next(std::stop_token stop) {
  MutexLock lock(inbox_->mutex);
  const bool has_room = this->has_room();
  const auto has_work = [&]() DROVER_REQUIRES(inbox_->mutex) {
    return !inbox_->answers.empty() || (has_room && !inbox_->plans.empty());
  };
  if (failed_ > 0) {
    inbox_->changed.wait_for(lock, stop, kUndoEvery, has_work);
  } else {
    inbox_->changed.wait(lock, stop, has_work);
  }
  gather(lock, stop);
  return take_work(has_room, stop);
}

// While an entry is under way the log begins no other one: plans that come within a moment share the next.
void PlanApplier::gather(MutexLock& lock, const std::stop_token& stop) {
  if (flights_.empty()) return;
  inbox_->enough = kEnough;
  inbox_->changed.wait_for(lock, stop, kGatherTime, [this]() DROVER_REQUIRES(inbox_->mutex) {
    return !inbox_->answers.empty() || inbox_->plans.size() >= kEnough;
  });
  inbox_->enough = 1;
}

PlanApplier::Work PlanApplier::take_work(bool has_room, const std::stop_token& stop) {
  Work work{.plans = {}, .answers = std::exchange(inbox_->answers, {})};
  if (has_room && !stop.stop_requested()) work.plans = take_plans();
  return work;
}

// The most urgent ones, as many as an entry holds.
std::vector<PlanApplier::Submission> PlanApplier::take_plans() {
  std::vector<Submission>& waiting = inbox_->plans;
  std::ranges::stable_sort(waiting, std::greater<>(), &Submission::priority);
  size_t allocations = 0;
  auto end = waiting.begin();
  for (; end != waiting.end() && (end == waiting.begin() || allocations < kMostPlacements); ++end) {
    if (end->registration) {
      if (end == waiting.begin()) ++end;
      break;
    }
    allocations += end->plan.allocations();
  }
  std::vector<Submission> taken(std::make_move_iterator(waiting.begin()), std::make_move_iterator(end));
  waiting.erase(waiting.begin(), end);
  host_.metrics().set("nomad.nomad.plan.queue_depth", static_cast<double>(waiting.size()));
  return taken;
}

// Nothing when the plan is of another time; `index` is that of the state it was checked against.
std::optional<CheckedPlan> PlanApplier::check(Submission& submission, InFlight::Entry entry, uint64_t term,
                                              uint64_t& index, std::stop_token stop) {
  // Between an earlier term of this server and this one another may have led, and have finished the evaluation.
  if (submission.term != term || !evals_.rest(submission.eval_id, submission.token)) {
    submission.done(aborted("the evaluation was given to another worker"));
    return std::nullopt;
  }
  std::optional<CheckedPlan> checked;
  const Status status = columns_.use_newest(stop, [&](Columns& columns, uint64_t newest) {
    index = newest;
    checked = check_plan(std::move(submission.plan), columns, entry);
  });
  if (!status.ok()) submission.done(status);
  return checked;
}

void PlanApplier::apply(std::vector<Submission> plans, std::stop_token stop) {
  const SteadyTime began = host_.clock().steady();
  const uint64_t term = host_.term();  // before the snapshots: a plan that passes on them is for this leadership only
  const InFlight::Entry entry = columns_.open();
  v1::PlanApplied command;
  Flight flight;
  for (Submission& submission : plans) {
    uint64_t index = 0;
    auto checked = check(submission, entry, term, index, stop);
    if (!checked) continue;
    note_refused(*checked);
    const Outcome outcome{
        .full = checked->full() && !submission.is_part, .progress = !checked->plan.empty(), .index = index};
    if (!outcome.full && !outcome.progress) {
      submission.done(outcome);
      continue;
    }
    add_to(command, std::move(checked->plan));
    if (submission.registration) *command.mutable_registration() = *std::move(submission.registration);
    if (outcome.full) move_all(submission.end, *command.mutable_evaluations());
    flight.waiting.push_back({.done = std::move(submission.done), .outcome = outcome});
  }
  flight.proposed = host_.clock().steady();
  host_.metrics().observe("nomad.nomad.plan.evaluate", flight.proposed - began);
  if (flight.waiting.empty()) return columns_.settle(entry, 0, /*failed=*/false);
  if (find_claims_ && command.placed_size() > 0) {
    v1::HostVolumesClaimed claims = find_claims_(command);
    if (claims.claims_size() > 0) *command.mutable_host_volume_claims() = std::move(claims);
  }
  command.set_time(host_.clock().wall_ns());
  flight.term = term;
  flights_.emplace(entry, std::move(flight));
  propose(std::move(command), entry, term, /*may_pack=*/true);
}

packing::Lookup PlanApplier::lookup_in(const ReadView& view) const {
  const Tables& tables = columns_.tables();
  return packing::lookup_in(view, tables.nodes, tables.evals.id());
}

// A plan that brings no allocation is small as it is.
void PlanApplier::propose(v1::PlanApplied command, InFlight::Entry entry, uint64_t term, bool may_pack) {
  if (may_pack && command.placed_size() > 0 && host_.clock().steady() >= packs_again_) {
    const auto view = host_.snapshot();
    if (auto packed = packing::pack(command, lookup_in(*view))) {
      std::string payload = serialize(*packed);
      flights_.at(entry).packed = std::make_shared<v1::PlansPacked>(*std::move(packed));
      return propose(v1::PlansPacked::descriptor()->full_name(), std::move(payload), entry, term);
    }
  }
  propose(v1::PlanApplied::descriptor()->full_name(), serialize(command), entry, term);
}

// Some server does not know packed plans yet, or a node is gone or no longer known by its short name: the entry is not
// in the log, or changed nothing. False when it cannot be said in another way.
bool PlanApplier::propose_plainly(Flight& flight, InFlight::Entry entry) {
  const auto view = host_.snapshot();
  auto plan = packing::unpack(*std::exchange(flight.packed, nullptr), lookup_in(*view));
  packs_again_ = host_.clock().steady() + kPacksAgain;
  if (!plan) return false;
  propose(*std::move(plan), entry, flight.term, /*may_pack=*/false);
  return true;
}

void PlanApplier::propose(std::string_view command, std::string payload, InFlight::Entry entry, uint64_t term) {
  host_.propose(command, std::move(payload), host_.clock().steady() + kProposeTime, term,
                [inbox = inbox_, entry](Result<Applied> applied) {
                  {
                    MutexLock lock(inbox->mutex);
                    inbox->answers.push_back({entry, std::move(applied)});
                  }
                  inbox->changed.notify_one();
                });
}

// The answer of the log. An entry that failed may be applied still, when the log did not say so in time: its plans are
// in flight until the state has reached whatever the log holds now. If the entry is part of that, the state shows it
// then; if not, it never will be, as long as this server leads: entries of one term are committed in order or not at
// all. A later term begins with a state that shows everything before it, and refuses what was decided earlier.
void PlanApplier::take(Answer answer) {
  const auto at = flights_.find(answer.entry);
  if (at == flights_.end()) return;
  Flight& flight = at->second;
  host_.metrics().observe("nomad.nomad.plan.apply", host_.clock().steady() - flight.proposed);
  if (!answer.applied && flight.packed && answer.applied.status().code() == Code::failed_precondition &&
      propose_plainly(flight, answer.entry)) {
    return;
  }
  if (!answer.applied) {
    log::warn("scheduler", "a plan was not applied", {{"error", answer.applied.status().message()}});
    flight.failure = answer.applied.status();
    ++failed_;
    return columns_.settle(answer.entry, host_.raft().last_index, /*failed=*/true);
  }
  columns_.settle(answer.entry, answer.applied->index, /*failed=*/false);
  for (Waiting& waiting : flight.waiting) {
    waiting.outcome.index = answer.applied->index;
    waiting.done(waiting.outcome);
  }
  flights_.erase(at);
}

void PlanApplier::finish_undone(std::stop_token stop) {
  const auto undone = columns_.take_undone(stop);
  if (!undone) return;
  for (const Columns::Settled& one : undone->entries) {
    // Whoever found no room while it was in flight looks again, also if that is written down only after this.
    for (const auto& gain : one.gained) evals_.room_gained(gain.node_id, gain.computed_class, undone->index + 1);
    if (one.failed) evals_.storage_unknown(undone->index + 1);
    const auto at = flights_.find(one.entry);
    if (!one.failed || at == flights_.end()) continue;
    for (Waiting& waiting : at->second.waiting) waiting.done(at->second.failure);
    flights_.erase(at);
    --failed_;
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
  host_.propose(v1::NodeEligibilityUpdated::descriptor()->full_name(), serialize(command),
                host_.clock().steady() + kProposeTime, /*only_in_term=*/0,
                [node = Uuid::from_bytes(node_id).to_string()](const Result<Applied>& applied) {
                  log::warn("scheduler",
                            applied ? "closed a node for new work: it refused too many plans" : "cannot close a node",
                            {{"node", node}, {"error", applied.status().message()}});
                });
}

}  // namespace drover::scheduler
