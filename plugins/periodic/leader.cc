#include "leader.h"

#include <algorithm>
#include <chrono>

#include "drover/keys.h"
#include "drover/log.h"
#include "drover/paced_changes.h"
#include "drover/pause.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/job_counts.pb.h"
#include "launch.h"
#include "periodic.pb.h"

namespace drover::periodic {
namespace {

using namespace std::chrono_literals;

constexpr auto kProposeTime = 10s;
constexpr auto kLook = 10s;  // at most between two looks at the clock, which somebody may set
constexpr auto kRetry = 1s;

// The outcome is unknown or another leader's affair: the tables say what is still to be done.
bool must_read_again(Code code) {
  return code == Code::unavailable || code == Code::aborted || code == Code::deadline_exceeded;
}

}  // namespace

bool has_live_child(const v1::Job& job, const LeaderTables& tables, const ReadView& view) {
  const KeyRange children = of_job(job.namespace_(), job.id());
  for (auto cursor = view.scan(tables.jobs.id(), kJobsByParent, children); cursor->valid(); cursor->next()) {
    KeyReader key(cursor->key());
    (void)key.text();  // the namespace
    (void)key.text();  // the parent
    const auto id = key.text();
    if (!id) continue;
    const auto counts = tables.counts.get(view, job_key(job.namespace_(), *id));
    if (counts && (counts->live_allocations() > 0 || counts->open_evaluations() > 0)) return true;
  }
  return false;
}

void Leader::run(std::stop_token stop) {
  // The entries that former leaders committed must be seen before anything is launched.
  const auto current = host_.snapshot_at(host_.raft().last_index, host_.clock().steady() + kProposeTime, stop);
  if (!current) log::warn("periodic", "starts behind the log", {{"error", current.status().message()}});
  while (!stop.stop_requested()) {
    if (!follow(stop)) pause_for(kRetry, stop);
  }
}

bool Leader::follow(std::stop_token stop) {
  term_ = host_.term();
  auto [view, changes] = host_.follow({tables_.jobs.id(), tables_.launches.id()});
  PacedChanges feed(std::move(changes));
  restore(*view);
  view.reset();
  while (!stop.stop_requested()) {
    forget_rows();
    if (!launch_due()) return false;
    const auto event = feed.next(next_look(), stop);
    if (std::holds_alternative<ChangeSubscription::Resync>(event)) return true;
    if (const auto* batch = std::get_if<std::shared_ptr<const ChangeBatch>>(&event)) {
      const auto now = host_.snapshot();
      for (const Change& change : (*batch)->changes()) take(change, *now);
    }
  }
  return true;
}

SteadyTime Leader::next_look() const {
  const SteadyTime now = host_.clock().steady();
  const auto due = timetable_.next();
  if (!due) return now + kLook;
  const std::chrono::nanoseconds until(*due - host_.clock().wall_ns());
  return now + std::clamp<std::chrono::nanoseconds>(until, 0ns, kLook);
}

void Leader::restore(const ReadView& view) {
  timetable_.clear();
  gone_.clear();
  tables_.jobs.scan(view, kPrimary, KeyRange::all(), [&](v1::Job& job, std::string_view) {
    if (job.has_periodic()) set(job, view);
    return true;
  });
  tables_.launches.scan(view, kPrimary, KeyRange::all(), [&](v1::PeriodicLaunch& row, std::string_view key) {
    if (!view.get(tables_.jobs.id(), key)) gone_.emplace(row.namespace_(), row.job_id());
    return true;
  });
}

// Times count from the last launch, but not from before the present version was submitted: what it was before is over.
void Leader::set(const v1::Job& job, const ReadView& view) {
  const auto row = tables_.launches.get(view, job_key(job.namespace_(), job.id()));
  const Status status = timetable_.set(job, std::max(job.submit_time(), row ? row->launch() : 0));
  if (!status.ok()) {
    log::warn("periodic", "a job cannot be launched here",
              {{"namespace", job.namespace_()}, {"job", job.id()}, {"error", status.message()}});
  }
}

void Leader::take(const Change& change, const ReadView& view) {
  if (change.table == tables_.jobs.id()) {
    const auto& job = (change.after ? change.after : change.before)->as<v1::Job>();
    if (change.after) return set(job, view);
    timetable_.forget({job.namespace_(), job.id()});
    if (job.has_periodic()) gone_.emplace(job.namespace_(), job.id());
  } else if (change.table == tables_.launches.id() && change.after) {
    const auto& row = change.after->as<v1::PeriodicLaunch>();
    if (const auto job = tables_.jobs.get(view, job_key(row.namespace_(), row.job_id()))) set(*job, view);
  }
}

void Leader::forget_rows() {
  if (gone_.empty()) return;
  const auto view = host_.snapshot();
  v1::PeriodicForgotten command;
  for (const auto& [name_space, id] : gone_) {
    const std::string key = job_key(name_space, id);
    if (view->get(tables_.jobs.id(), key) || !view->get(tables_.launches.id(), key)) continue;
    auto& name = *command.add_jobs();
    name.set_namespace_(name_space);
    name.set_job_id(id);
  }
  gone_.clear();
  if (command.jobs().empty()) return;
  const auto applied = host_.propose(command, host_.clock().steady() + kProposeTime, term_);
  // The next leader finds them.
  if (!applied) log::warn("periodic", "could not forget launches", {{"error", applied.status().message()}});
}

bool Leader::launch_due() {
  for (const Timetable::Due& due : timetable_.take_due(host_.clock().wall_ns())) {
    if (!launch(due)) return false;
  }
  return true;
}

bool Leader::launch(const Timetable::Due& due) {
  const auto& [name_space, id] = due.job;
  const auto view = host_.snapshot();
  const auto job = tables_.jobs.get(*view, job_key(name_space, id));
  if (!job || !is_launched_by_time(*job)) return true;
  if (job->periodic().prohibit_overlap() && has_live_child(*job, tables_, *view)) {
    log::info("periodic", "a launch is skipped: an earlier child still runs", {{"namespace", name_space}, {"job", id}});
    return true;
  }
  const auto command = launch_of(*job, due.launch, Uuid::random().bytes(), host_.clock().wall_ns());
  const auto applied = host_.propose(command, host_.clock().steady() + kProposeTime, term_);
  if (applied) return true;
  log::warn("periodic", "a launch failed",
            {{"namespace", name_space}, {"job", id}, {"error", applied.status().message()}});
  return !must_read_again(applied.status().code());
}

}  // namespace drover::periodic
