#include "tests/simulation/cluster/driven_node.h"

#include <algorithm>
#include <utility>

namespace drover::simulation {
namespace {

constexpr int64_t kCommandBytes = 90;  // about, in the log

// 0 in the configuration is "none".
uint64_t log_bytes(int64_t entries) {
  return entries == 0 ? UINT64_MAX / 4 : static_cast<uint64_t>(entries * kCommandBytes);
}

}  // namespace

Status DrivenNode::Executor::restore(raft::ByteSource& source) {
  DROVER_RETURN_IF_ERROR(node_.machine_.restore(source));
  node_.world_.trace.note("its state machine is at {}", node_.number_, node_.machine_.index());
  if (node_.is_started_) node_.world_.invariants.installed(node_.number_, node_.machine_.index());
  return ok_status();
}

raft::Options DrivenNode::options() const {
  const Configuration& c = world_.configuration;
  raft::Options options{
      .directory = "/raft",
      .node_id = id_,
      .cluster_id = id_of(200),
      .bootstrap_alone = false,
      .tick = std::chrono::milliseconds(c.tick / 1000),
      .heartbeat_ticks = static_cast<int>(c.heartbeat_ticks),
      .election_ticks = static_cast<int>(c.election_ticks),
      .lease_reads = c.lease_reads != 0 && c.clock_rate < 250,  // it assumes 500 ppm
      .seed = scatter(seed_ ^ life_) | 1,
      .max_entry_bytes = static_cast<uint64_t>(c.max_entry_bytes),
      .append_bytes = static_cast<uint64_t>(c.append_bytes),
      .window_messages = static_cast<size_t>(c.window_messages),
      .window_bytes = static_cast<uint64_t>(c.window_bytes),
      // Its driver counts headers as well, and takes nothing that is larger than the limit.
      .max_uncommitted_bytes = static_cast<uint64_t>(std::max<int64_t>(c.max_uncommitted_bytes, 4'000)),
      .apply_batch_bytes = static_cast<uint64_t>(c.apply_batch * kCommandBytes),
      .snapshot_threshold_bytes = log_bytes(c.snapshot_entries),
      .snapshot_trail_bytes = static_cast<uint64_t>(c.trail_entries * kCommandBytes),
      .scrub_interval = std::chrono::microseconds(10 * c.tick)};
  if (bootstrap_) options.bootstrap = bootstrap_->members;
  return options;
}

// ---- start and end ----

Status DrivenNode::open() {
  raft::Options all = options();
  all.log = log_options();
  driver_ = raft::make_stepped(std::move(all), executor_, disk_.files, clock_view_, *this);
  DROVER_RETURN_IF_ERROR(driver_->start());
  if (has_storage_failed_) return internal_error("the first write failed");
  world_.invariants.started_unseen(number_, machine_.index());
  is_started_ = true;
  is_cut_ = driver_->stats().is_damaged;
  if (is_damaged_ && !is_cut_ && (driver_->last_index() < seen_durable_ || driver_->term() < seen_term_))
    return data_loss("the damage hit the newest batch and looks like a torn write");
  if (is_cut_) world_.trace.note("its log is damaged and ends at {}", number_, driver_->last_index());
  seen_commit_ = driver_->commit_index();
  return ok_status();
}

void DrivenNode::close() {
  is_started_ = false;
  events_ = nullptr;
  driver_.reset();
  is_working_ = is_wake_due_ = is_step_due_ = may_have_writes_ = false;
  led_ = 0;
  open_calls_ = 0;
}

void DrivenNode::shut_down() {
  driver_->stop();
  if (open_calls_ != 0)
    world_.invariants.fail("tokens", "n" + std::to_string(number_) + " stops without an answer to " +
                                         std::to_string(open_calls_) + " callers");
}

void DrivenNode::started() {
  world_.trace.note("is up: last {}, applied {}, term {}", number_, driver_->last_index(), machine_.index(),
                    driver_->term());
  may_have_writes_ = true;
  tick();
  wake();
}

// ---- the loops ----

void DrivenNode::tick() {
  later(clock_.duration(world_.configuration.tick), [this] {
    tick();
    (void)driver_->step_log(raft::SegmentLog::Idle::confirm);
    if (disk_.files.has_crashed() || has_storage_failed_) return end_of_storage();
    work();
  });
}

void DrivenNode::wake() {
  if (is_wake_due_ || is_working_ || is_paused() || !is_up()) return;
  is_wake_due_ = true;
  const Micros delay = world_.configuration.inbox_delay;
  later(delay == 0 ? 0 : random_.exponential(delay), [this] {
    is_wake_due_ = false;
    work();
  });
}

void DrivenNode::work() {
  if (!is_up() || is_working_) return;
  is_working_ = true;
  (void)driver_->step_raft();
  is_working_ = false;
  observe();
  may_have_writes_ = true;
  kick_disk();
  if (is_step_due_) return;
  is_step_due_ = true;
  const Micros delay = world_.configuration.apply_delay;
  later(delay == 0 ? 0 : random_.exponential(delay), [this] {
    is_step_due_ = false;
    step_others();
  });
}

void DrivenNode::step_others() {
  const bool has_applied = driver_->step_apply();
  const bool has_saved = driver_->step_save();
  const bool has_moved = driver_->step_transfer();
  scrub();
  if (disk_.files.has_crashed() || has_storage_failed_) return end_of_storage();
  if (has_applied) world_.trace.note("has applied up to {}", number_, machine_.index());
  if (has_saved) world_.trace.note("has saved a snapshot", number_, driver_->stats().snapshot_index);
  if (has_applied || has_saved || has_moved) wake();
}

// It finds nothing where nothing is.
void DrivenNode::scrub() {
  const uint64_t before = driver_->stats().scrub_errors;
  (void)driver_->step_scrub();
  if (driver_->stats().scrub_errors == before) return;
  const bool may_find = is_damaged_ || disk_.files.is_rotten() || disk_.files.has_crashed() || has_storage_failed_ ||
                        world_.configuration.read_error_every != 0;
  if (may_find) return;
  world_.invariants.fail("scrub", "n" + std::to_string(number_) + " finds damage on a disk that is whole");
}

bool DrivenNode::write_log() {
  may_have_writes_ = driver_->step_log(raft::SegmentLog::Idle::nothing);
  if (!has_storage_failed_) (void)driver_->step_fill();
  return may_have_writes_;
}

void DrivenNode::observe() {
  const raft::Index commit = driver_->commit_index();
  if (commit < seen_commit_)
    world_.invariants.fail("monotonic", "n" + std::to_string(number_) + ": the commit index goes from " +
                                            std::to_string(seen_commit_) + " to " + std::to_string(commit));
  seen_commit_ = commit;
  seen_durable_ = driver_->durable_index();
  seen_term_ = driver_->term();
  if (is_cut_ && !driver_->stats().is_damaged) repaired();
  if (driver_->role() != raft::Role::leader || driver_->term() == led_) return;
  led_ = driver_->term();
  world_.trace.note("leads term {}", number_, led_);
  world_.invariants.leads(number_, led_);
}

// ---- peers ----

void DrivenNode::start(const raft::Member&, raft::PeerEvents& events) { events_ = &events; }

void DrivenNode::send(raft::Message message) {
  const int to = number_of(message.to);
  world_.invariants.sending(number_, message);
  world_.trace.note("sends {} to n{}: term {}, index {}", number_, static_cast<uint64_t>(message.type),
                    static_cast<uint64_t>(to), message.term, message.log_index);
  if (to >= 0 && static_cast<size_t>(to) < world_.nodes->size()) world_.network->send(number_, to, std::move(message));
}

void DrivenNode::send_bulk(raft::BulkMessage message) {
  const int to = number_of(std::visit([](const auto& one) { return one.to; }, message));
  const raft::Index index = std::visit([](const auto& one) { return one.index; }, message);
  world_.trace.note("sends a piece of the snapshot at {} to n{}, or an answer", number_, index,
                    static_cast<uint64_t>(to));
  if (to >= 0 && static_cast<size_t>(to) < world_.nodes->size())
    world_.network->send_bulk(number_, to, std::move(message));
}

void DrivenNode::receive(raft::Message message) {
  if (events_ != nullptr) events_->receive(std::move(message));
  wake();
}

void DrivenNode::receive_bulk(raft::BulkMessage message) {
  if (events_ != nullptr) events_->receive_bulk(std::move(message));
  wake();
}

void DrivenNode::peer_changed(int peer, bool is_reachable) {
  if (!is_up() || events_ == nullptr) return;
  if (is_reachable) {
    events_->peer_reconnected(id_of(peer));
  } else {
    events_->peer_unreachable(id_of(peer));
  }
  wake();
}

// ---- requests ----

SteadyTime DrivenNode::deadline() const {
  return clock_.steady(world_.loop.now()) + std::chrono::microseconds(world_.configuration.client_timeout);
}

std::function<bool()> DrivenNode::once(const char* what) {
  ++open_calls_;
  auto is_open = std::make_shared<bool>(true);
  return [this, what, life = life_, is_open] {
    if (life != life_) return false;
    if (!std::exchange(*is_open, false)) {
      world_.invariants.fail("tokens", "n" + std::to_string(number_) + " answers " + what + " twice");
      return false;
    }
    --open_calls_;
    return true;
  };
}

void DrivenNode::serve(const Request& request) {
  if (request.kind == Kind::read) {
    const raft::Index floor = world_.invariants.acknowledged();
    driver_->read_index(deadline(), [this, request, floor, first = once("a read")](Result<raft::Index> index) {
      if (!first()) return;
      const int leader = number_of(driver_->leader_hint().id);
      if (!index.ok()) return answer(request, {.outcome = Answer::Outcome::refused, .leader = leader});
      world_.trace.note("may read at {}", number_, *index);
      world_.invariants.read(number_, *index, floor);
      if (machine_.index() < *index) {
        return world_.invariants.fail("reads", "n" + std::to_string(number_) + " reads at " + std::to_string(*index) +
                                                   " and has applied " + std::to_string(machine_.index()));
      }
      answer(request, {.value = machine_.read(request.key), .index = machine_.index()});
    });
    return wake();
  }
  std::string command = encode_command(request);
  const bool is_too_large = static_cast<int64_t>(command.size()) > world_.configuration.max_entry_bytes;
  const auto done = [this, request, is_too_large, first = once("a write")](Result<raft::Applied> applied) {
    if (!first()) return;
    const Code code = applied.status().code();
    world_.trace.note("answers a write with {}", number_, static_cast<uint64_t>(code));
    const int leader = number_of(driver_->leader_hint().id);
    if (applied.ok()) return answer(request, {.value = applied->answer, .index = applied->index});
    answer(request, {.outcome = is_too_large                      ? Answer::Outcome::impossible
                                : code == Code::deadline_exceeded ? Answer::Outcome::uncertain
                                                                  : Answer::Outcome::refused,
                     .leader = leader});
  };
  driver_->propose(std::move(command), deadline(), done);
  wake();
}

void DrivenNode::change_membership(const std::vector<raft::MemberEdit>& edits) {
  world_.invariants.requested(edits);
  driver_->change_membership(edits, deadline(), [first = once("a membership change")](const Status&) { first(); });
  wake();
}

void DrivenNode::transfer(raft::NodeId to) {
  world_.trace.note("is asked to hand leadership to n{}", number_, static_cast<uint64_t>(number_of(to)));
  driver_->transfer_leadership(to, deadline(), [first = once("a transfer")](const Status&) { first(); });
  wake();
}

void DrivenNode::take_snapshot() {
  if (!is_up()) return;
  driver_->take_snapshot([first = once("a snapshot")](const Result<raft::SnapshotInfo>&) { first(); });
  wake();
}

raft::CoreStatus DrivenNode::status() const {
  return {.role = driver_->role(),
          .term = driver_->term(),
          .leader = driver_->leader_hint().id,
          .first_index = driver_->stats().first_index,
          .last_index = driver_->last_index(),
          .durable_index = driver_->durable_index(),
          .commit_index = driver_->commit_index(),
          .applied_index = driver_->applied_index(),
          .snapshot_index = driver_->stats().snapshot_index};
}

std::string DrivenNode::unfinished() const {
  if (machine_.index() < driver_->commit_index()) return "has committed entries that are not applied";
  if (open_calls_ != 0) return "has " + std::to_string(open_calls_) + " callers without an answer";
  const raft::Stats stats = driver_->stats();
  if (const uint64_t bytes = stats.uncommitted_bytes + stats.unapplied_bytes; bytes != 0)
    return "counts " + std::to_string(bytes) + " bytes of proposals that are settled";
  return {};
}

}  // namespace drover::simulation
