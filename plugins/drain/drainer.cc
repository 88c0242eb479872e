#include "drainer.h"

#include <chrono>
#include <map>

#include "drain.pb.h"
#include "drover/log.h"
#include "drover/model/evaluation.h"
#include "drover/paced_changes.h"
#include "drover/pause.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"

namespace drover::drain {
namespace {

using namespace std::chrono_literals;

constexpr auto kProposeTime = 10s;
constexpr auto kBetweenSteps = 250ms;  // reports of many allocations come in groups
constexpr auto kRetry = 2s;
constexpr auto kIdle = 1min;
constexpr int kMovesAnEntry = 2000;

}  // namespace

void Drainer::run(std::stop_token stop) {
  while (!stop.stop_requested()) follow(stop);
}

// Follows from one snapshot until the feed falls behind, or to the end.
void Drainer::follow(std::stop_token stop) {
  auto [view, changes] = host_.follow({tables_.nodes, tables_.allocs});
  PacedChanges feed(std::move(changes));
  restore(*view);
  view.reset();
  while (!stop.stop_requested()) {
    look();
    const auto event = feed.next(changed_ ? not_before_ : next_look(), stop);
    if (std::holds_alternative<ChangeSubscription::Resync>(event)) return;
    if (const auto* batch = std::get_if<std::shared_ptr<const ChangeBatch>>(&event)) {
      for (const Change& change : (*batch)->changes()) take(change);
    }
  }
}

void Drainer::restore(const ReadView& view) {
  draining_.clear();
  Table<v1::Node>(tables_.nodes).scan(view, kPrimary, KeyRange::all(), [&](v1::Node& node, std::string_view) {
    if (node.drain()) draining_.insert(node.id());
    return true;
  });
  changed_ = true;
  not_before_ = {};
}

void Drainer::look() {
  if (look_again_at_ && host_.clock().wall_ns() >= *look_again_at_) changed_ = true;
  if (draining_.empty()) changed_ = false;
  if (!changed_ || host_.clock().steady() < not_before_) return;
  changed_ = !step();
  not_before_ = host_.clock().steady() + (changed_ ? std::chrono::nanoseconds(kRetry) : kBetweenSteps);
}

SteadyTime Drainer::next_look() const {
  const SteadyTime now = host_.clock().steady();
  if (!look_again_at_) return now + kIdle;
  return now + std::chrono::nanoseconds(std::max<int64_t>(*look_again_at_ - host_.clock().wall_ns(), 1));
}

void Drainer::take(const Change& change) {
  if (change.table == tables_.nodes) {
    const auto& node = (change.after ? change.after : change.before)->as<v1::Node>();
    if (change.after && node.drain()) {
      draining_.insert(node.id());
      changed_ = true;
    } else {
      draining_.erase(node.id());
    }
  } else if (change.table == tables_.allocs && !draining_.empty() && !changed_) {
    const auto& alloc = (change.after ? change.after : change.before)->as<v1::Allocation>();
    changed_ = draining_.contains(alloc.node_id()) || concerned_.contains({alloc.namespace_(), alloc.job_id()});
  }
}

bool Drainer::step() {
  const uint64_t term = host_.term();  // before the snapshot: what is decided on it is for this leadership only
  const auto view = host_.snapshot();
  const DrainInput found = input(*view);
  const DrainStep step = drain_step(found);
  look_again_at_ = step.look_again_at;
  return move(found, step, term) && finish(step, term);
}

DrainInput Drainer::input(const ReadView& view) {
  DrainInput input;
  input.now = host_.clock().wall_ns();
  concerned_.clear();
  const Table<v1::Allocation> allocs(tables_.allocs);
  for (const std::string& id : draining_) {
    auto node = Table<v1::Node>(tables_.nodes).get(view, id);
    if (!node || !node->drain()) continue;
    input.nodes.push_back(*std::move(node));
    allocs.scan(view, kAllocsByNode, of_id(id), [&](v1::Allocation& alloc, std::string_view) {
      concerned_.emplace(alloc.namespace_(), alloc.job_id());
      return true;
    });
  }
  for (const auto& [name_space, job_id] : concerned_) {
    input.jobs.push_back({.job = Table<v1::Job>(tables_.jobs).get(view, job_key(name_space, job_id)),
                          .allocs = allocs.list(view, kAllocsByJob, of_job(name_space, job_id))});
  }
  return input;
}

bool Drainer::move(const DrainInput& input, const DrainStep& step, uint64_t term) {
  v1::DrainMoved command;
  std::set<size_t> evaluated;
  const auto flush = [&] {
    if (command.alloc_ids().empty() && command.spared_ids().empty()) return true;
    command.set_time(host_.clock().wall_ns());
    const Status status = host_.propose(command, host_.clock().steady() + kProposeTime, term).status();
    if (!status.ok()) log::warn("drain", "allocations were not told to move", {{"error", status.message()}});
    command.Clear();
    evaluated.clear();
    return status.ok();
  };
  for (const DrainStep::Move& one : step.moves) {
    (one.spares ? command.add_spared_ids() : command.add_alloc_ids())->assign(one.alloc_id);
    if (evaluated.insert(one.job).second) {
      const DrainInput::JobAllocs& of = input.jobs[one.job];
      const v1::Allocation& any = of.allocs.front();
      *command.add_evaluations() = new_evaluation(Uuid::random().bytes(), any.namespace_(), any.job_id(),
                                                  of.job ? &*of.job : nullptr, "node-drain");
    }
    if (command.alloc_ids_size() + command.spared_ids_size() >= kMovesAnEntry && !flush()) return false;
  }
  return flush();
}

bool Drainer::finish(const DrainStep& step, uint64_t term) {
  for (const DrainStep::Done& done : step.done) {
    v1::NodeDrainUpdated command;
    command.set_node_id(done.node_id);
    command.set_status(v1::DRAIN_STATUS_COMPLETE);
    command.set_time(host_.clock().wall_ns());
    v1::NodeEvent& event = *command.mutable_event();
    event.set_message("Node drain complete");
    event.set_subsystem("Drain");
    event.set_timestamp(command.time());
    if (done.deadline_reached) (*event.mutable_details())["deadline_reached"] = "true";
    const Status status = host_.propose(command, host_.clock().steady() + kProposeTime, term).status();
    if (!status.ok()) {
      log::warn("drain", "the end of a drain was not written", {{"error", status.message()}});
      return false;
    }
    log::info("drain", "node drain complete", {{"node", Uuid::from_bytes(done.node_id).to_string()}});
  }
  return true;
}

}  // namespace drover::drain
