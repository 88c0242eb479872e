// A simulated server's start, its log and its snapshots.
#include <algorithm>
#include <utility>

#include "storage/segment_format.h"
#include "tests/simulation/cluster/bare_node.h"

namespace drover::simulation {
namespace {

constexpr const char* kDirectory = "/raft";

// A snapshot's bytes, as a peer sent them.
class Arrived final : public raft::SnapshotSource {
 public:
  Arrived(raft::Index index, std::shared_ptr<const std::string> bytes) : index_(index), bytes_(std::move(bytes)) {}
  raft::Index index() override { return index_; }
  Status write(raft::ByteSink& sink) override { return sink.write(*bytes_); }

 private:
  const raft::Index index_;
  const std::shared_ptr<const std::string> bytes_;
};

Result<std::string> read_all(raft::ByteSource& source) {
  std::string bytes;
  std::string buffer(4096, '\0');
  while (true) {
    DROVER_TRY(const size_t n, source.read(buffer));
    if (n == 0) return bytes;
    bytes.append(buffer, 0, n);
  }
}

}  // namespace

// ---- start ----

void BareNode::started() {
  world_.trace.note("is up: log {} to {}, term {}", number_, log_->first_index(), log_->last_index(),
                    core_->status().term);
  world_.loop.after(random_.between(0, world_.configuration.tick), [this, life = life_] {
    if (life == life_) tick();
  });
  idle();
  drain();
}

Status BareNode::open() {
  DROVER_TRY(log_, raft::SegmentLog::open(disk_.files, log_options()));
  log_->start_stepped([this](uint64_t write_seq) {
    written_seq_ = write_seq;
    world_.invariants.written(number_, write_seq);
  });
  DROVER_TRY(snapshots_, raft::SnapshotStore::open(disk_.files, kDirectory));
  write_seq_ = written_seq_ = told_seq_ = log_->recovered().write_seq;
  DROVER_TRY(const raft::SnapshotInfo base, restore());
  DROVER_RETURN_IF_ERROR(begin_cluster(base));
  DROVER_TRY(const std::vector<raft::Entry> entries, read_log());

  raft::LogState state = log_->recovered();
  state.first_index = log_->first_index();
  state.last_index = log_->last_index();
  if (is_damaged_ && !is_cut_ && !state.is_damaged && world_.invariants.is_behind(number_, state, base.index))
    return data_loss("the damage hit the newest batch and looks like a torn write");
  if (state.is_damaged) {
    // The entries may be gone, but it remembers what it has promised.
    world_.invariants.remembers(number_, state.hard_state);
    world_.trace.note("its log is damaged and ends at {}", number_, state.last_index);
    is_cut_ = true;
    DROVER_RETURN_IF_ERROR(write_first({.hard_state = state.hard_state}));
  }
  world_.invariants.started(number_, state, entries, base.index, is_damaged_);
  world_.conduct.started(number_);
  applied_membership_ = base.membership;
  applied_term_ = base.term;
  apply_to_ = snapshot_index_ = base.index;
  core_ = std::make_unique<raft::Core>(core_config(), core_state(base, entries));
  return ok_status();
}

// The newest whole snapshot that the log connects to, put into the state machine; index 0 when there is none.
Result<raft::SnapshotInfo> BareNode::restore() {
  for (const raft::SnapshotInfo& kept : snapshots_->list()) {
    if (kept.index + 1 < log_->first_index()) break;
    Result<raft::SnapshotInfo> snapshot = snapshots_->verify(kept);
    if (!snapshot.ok()) {
      if (snapshot.status().code() != Code::data_loss) return snapshot.status();
      DROVER_RETURN_IF_ERROR(snapshots_->set_aside(kept));
      continue;
    }
    DROVER_TRY(const std::unique_ptr<raft::ByteSource> source, snapshots_->read(*snapshot));
    DROVER_RETURN_IF_ERROR(machine_.restore(*source));
    return snapshot;
  }
  if (log_->first_index() == 1) return raft::SnapshotInfo();
  const auto is_other_voter = [&](const raft::Member& member) {
    return member.id != id_ && member.suffrage == raft::Suffrage::voter;
  };
  if (std::ranges::none_of(log_->recovered().membership.members, is_other_voter))
    return data_loss("no whole snapshot reaches the log");
  DROVER_RETURN_IF_ERROR(log_->mark_damaged());
  DROVER_RETURN_IF_ERROR(
      write_first({.hard_state = log_->recovered().hard_state, .first_index = 1, .start_over = true}));
  return raft::SnapshotInfo();
}

// Before the core runs.
Status BareNode::write_first(raft::LogWrite write) {
  write.write_seq = ++write_seq_;
  log_->submit(std::move(write));
  if (!log_->write_step(raft::SegmentLog::Idle::nothing)) return internal_error("the first write failed");
  told_seq_ = written_seq_;
  return ok_status();
}

// A server of the first hour begins with the membership that all of them begin with.
Status BareNode::begin_cluster(const raft::SnapshotInfo& base) {
  const bool is_empty = log_->last_index() == 0 && base.index == 0 && log_->recovered().hard_state.term == 0 &&
                        !log_->recovered().is_damaged;
  if (!is_empty || !bootstrap_) return ok_status();
  auto payload = std::make_shared<const std::string>(raft::encode_membership(*bootstrap_));
  return write_first(
      {.entries = {{.index = 1, .term = 1, .type = raft::EntryType::membership, .payload = std::move(payload)}},
       .hard_state = raft::HardState{.term = 1},
       .membership = *bootstrap_});
}

Result<std::vector<raft::Entry>> BareNode::read_log() const {
  std::vector<raft::Entry> entries;
  raft::Index next = log_->first_index();
  while (next <= log_->last_index()) {
    DROVER_TRY(std::vector<raft::Entry> some, log_->read(next, log_->last_index(), 1 << 20));
    for (raft::Entry& entry : some) entries.push_back(std::move(entry));
    next = entries.back().index + 1;
  }
  return entries;
}

raft::CoreState BareNode::core_state(const raft::SnapshotInfo& base, const std::vector<raft::Entry>& entries) const {
  raft::CoreState state{.hard_state = log_->recovered().hard_state,
                        .snapshot_index = base.index,
                        .snapshot_term = base.term,
                        .write_seq = write_seq_};
  if (bootstrap_ && state.hard_state.term == 0) state.hard_state.term = 1;
  state.is_damaged = is_cut_;
  const raft::Index first = log_->first_index();
  state.terms.start_over(first, log_->term_at(first - 1).value_or(0));
  if (base.index != 0) state.memberships.push_back(base.membership);
  for (const raft::Entry& entry : entries) {
    state.terms.append(entry.index, entry.term);
    if (entry.type != raft::EntryType::membership || entry.index <= base.membership.index) continue;
    raft::Membership membership = *raft::decode_membership(entry.bytes());
    membership.index = entry.index;
    if (entry.index > base.index || state.memberships.empty()) state.memberships.push_back(std::move(membership));
  }
  return state;
}

raft::CoreConfig BareNode::core_config() const {
  const Configuration& c = world_.configuration;
  return {.id = id_,
          .seed = scatter(seed_ ^ life_),
          .heartbeat_ticks = static_cast<int>(c.heartbeat_ticks),
          .election_ticks = static_cast<int>(c.election_ticks),
          .tick = std::chrono::microseconds(c.tick),
          .max_entry_bytes = static_cast<uint64_t>(c.max_entry_bytes),
          .append_bytes = static_cast<uint64_t>(c.append_bytes),
          .window_messages = static_cast<size_t>(c.window_messages),
          .window_bytes = static_cast<uint64_t>(c.window_bytes),
          .max_uncommitted_bytes = static_cast<uint64_t>(c.max_uncommitted_bytes),
          .recent_bytes = static_cast<uint64_t>(c.recent_bytes),
          .lease_reads = c.lease_reads != 0,
          .lease_drift_ppm = static_cast<uint32_t>(2 * c.clock_rate + 500)};
}

// ---- the log ----

void BareNode::submit(raft::LogWrite write) {
  world_.trace.note("writes {}: {} entries, from {}, cut at {}", number_, write.write_seq, write.entries.size(),
                    write.entries.empty() ? 0 : write.entries.front().index, write.truncate_from);
  write_seq_ = write.write_seq;
  outstanding_.emplace_back(write.write_seq, clock_.local(world_.loop.now()));
  log_->submit(std::move(write));
  kick_disk();
}

// Writes everything that it was told to write, and marks the log as closed.
void BareNode::shut_down() {
  while (log_->write_step(raft::SegmentLog::Idle::nothing)) {
  }
  (void)log_->write_step(raft::SegmentLog::Idle::close);
}

bool BareNode::write_log() {
  const bool has_written = log_->write_step(raft::SegmentLog::Idle::nothing);
  if (!has_storage_failed_) (void)log_->fill_step();
  return has_written;
}

void BareNode::written() {
  while (!outstanding_.empty() && outstanding_.front().first <= written_seq_) outstanding_.pop_front();
  if (written_seq_ == told_seq_) return;
  told_seq_ = written_seq_;
  world_.trace.note("hears that write {} is durable", number_, told_seq_);
  post(raft::LogDurable{told_seq_});
}

// When nothing waits, the newest batch is confirmed by an empty one.
void BareNode::idle() {
  later(world_.configuration.idle_confirm, [this] {
    if (outstanding_.empty()) (void)log_->write_step(raft::SegmentLog::Idle::confirm);
    has_storage_failed_ |= disk_.files.has_crashed();
    if (has_storage_failed_) return end_of_storage();
    idle();
  });
}

void BareNode::read_for_peer(const raft::LogRead& wanted) {
  later(random_.exponential(200), [this, wanted] {
    Result<std::vector<raft::Entry>> entries = log_->read(wanted.from, wanted.upto, wanted.max_bytes);
    world_.trace.note("reads entries from {} for n{}", number_, wanted.from,
                      static_cast<uint64_t>(number_of(wanted.to)), entries.ok());
    if (entries.status().code() == Code::data_loss) take_snapshot();
    post(raft::EntriesRead{wanted.to, wanted.from, entries.ok() ? *std::move(entries) : std::vector<raft::Entry>()});
  });
}

// ---- snapshots ----

void BareNode::take_snapshot() {
  if (!is_up() || is_snapshotting_ || !installs_.empty() || machine_.applied_index() <= snapshot_index_) return;
  is_snapshotting_ = true;
  save_snapshot(machine_.applied_index(), applied_term_, applied_membership_, machine_.snapshot());
}

void BareNode::save_snapshot(raft::Index index, raft::Term term, raft::Membership membership,
                             std::shared_ptr<raft::SnapshotSource> source) {
  const Micros takes = std::max<Micros>(0, disk_.write(world_.loop.now()).is_told - world_.loop.now());
  later(takes * 4, [this, index, term, membership = std::move(membership), source = std::move(source)]() mutable {
    if (core_->status().durable_index < index) {
      // A leader applies before its own disk has it; no snapshot may be ahead of its log.
      return save_snapshot(index, term, std::move(membership), std::move(source));
    }
    is_snapshotting_ = false;
    if (!installs_.empty() || index <= snapshot_index_) return;  // a leader's came first
    const Result<raft::SnapshotInfo> saved = snapshots_->save(index, term, membership, *source, [] { return false; });
    if (disk_.files.has_crashed()) {
      return end_of_storage();
    }
    world_.trace.note("takes a snapshot at {}", number_, index, saved.ok());
    if (!saved.ok()) return;
    snapshot_index_ = index;
    const auto trail = static_cast<raft::Index>(world_.configuration.trail_entries);
    const raft::Index first = std::max(log_->first_index(), index + 1 - std::min(index, trail));
    post(raft::SnapshotTaken{index, term, std::move(membership), first});
  });
}

void BareNode::send_snapshot(raft::NodeId to) {
  const auto give_up = [this, to](raft::Index index) { post(raft::SnapshotSent{to, index, false}); };
  const std::vector<raft::SnapshotInfo> kept = snapshots_->list();
  if (kept.empty()) {
    take_snapshot();
    return later(10'000, [give_up] { give_up(0); });
  }
  Result<raft::SnapshotInfo> info = snapshots_->verify(kept.front());
  Result<std::string> bytes = info.status();
  if (info.ok()) {
    if (const auto source = snapshots_->read(*info); source.ok()) bytes = read_all(**source);
  }
  if (!bytes.ok()) {
    // Rotten, or the disk does not give it back now. Another one may be whole.
    if (bytes.status().code() == Code::data_loss && snapshots_->set_aside(kept.front()).ok()) snapshot_index_ = 0;
    take_snapshot();
    return later(10'000, [give_up, index = kept.front().index] { give_up(index); });
  }
  const int peer = number_of(to);
  world_.trace.note("sends its snapshot at {} to n{}", number_, info->index, static_cast<uint64_t>(peer));
  const Micros takes = 2 * world_.configuration.delay + random_.exponential(20'000);
  auto payload = std::make_shared<const std::string>(*std::move(bytes));
  later(takes, [this, give_up, peer, term = status().term, info = *info, payload = std::move(payload)] {
    auto& receiver = static_cast<BareNode&>(*(*world_.nodes)[static_cast<size_t>(peer)]);
    if (world_.network->is_cut(number_, peer) || !receiver.is_up() || receiver.is_paused()) {
      return later(100'000, [give_up, index = info.index] { give_up(index); });
    }
    receiver.receive_snapshot(number_, term, info, payload);
  });
}

// The sender hears of it either way, unless one of the two crashes: then the connection breaks, which it hears too.
void BareNode::receive_snapshot(int from, raft::Term leader_term, const raft::SnapshotInfo& info,
                                std::shared_ptr<const std::string> bytes) {
  const Micros done_at = disk_.write(world_.loop.now()).is_told;
  const auto tell = [this, from, index = info.index](bool is_ok) {
    auto& sender = static_cast<BareNode&>(*(*world_.nodes)[static_cast<size_t>(from)]);
    if (sender.is_up()) sender.post(raft::SnapshotSent{id_, index, is_ok});
  };
  world_.loop.at(done_at, [this, life = life_, from, leader_term, info, bytes = std::move(bytes), tell] {
    const bool is_gone = life != life_ || world_.network->is_cut(number_, from);
    if (is_gone) return tell(false);
    const std::vector<raft::SnapshotInfo> kept = snapshots_->list();
    if (kept.empty() || kept.front().index < info.index) {
      Arrived source(info.index, bytes);
      const auto saved = snapshots_->save(info.index, info.term, info.membership, source, [] { return false; });
      if (disk_.files.has_crashed()) {  // whether or not the snapshot was whole by then
        end_of_storage();
        return tell(false);
      }
      if (!saved.ok()) return tell(false);
    } else if (kept.front().index > info.index) {
      // A newer one came before and was not installed then: it will do.
      const Result<raft::SnapshotInfo> newer = snapshots_->verify(kept.front());
      if (newer.ok()) {
        post(raft::SnapshotArrived{id_of(from), leader_term, newer->index, newer->term, newer->membership});
      }
      return tell(newer.ok());
    }
    world_.trace.note("has received a snapshot at {} of term {}", number_, info.index, info.term);
    post(raft::SnapshotArrived{id_of(from), leader_term, info.index, info.term, info.membership});
    tell(true);
  });
}

void BareNode::install(const raft::SnapshotInstall& wanted) {
  installs_.push_back(wanted);
  install_at_ = std::max(install_at_, world_.loop.now() + random_.exponential(2'000));  // one after the other
  later(install_at_ - world_.loop.now(), [this] {
    const raft::SnapshotInstall next =
        installs_.front();  // a pause that was cut short may have put a later event first
    installs_.pop_front();
    install_now(next);
  });
}

void BareNode::install_now(const raft::SnapshotInstall& wanted) {
  for (const raft::SnapshotInfo& kept : snapshots_->list()) {
    if (kept.index != wanted.index || kept.term != wanted.term) continue;
    const Result<raft::SnapshotInfo> whole = snapshots_->verify(kept);
    if (!whole.ok()) break;
    const auto source = snapshots_->read(*whole);
    if (!source.ok() || !machine_.restore(**source).ok()) break;
    world_.trace.note("installs the snapshot at {} of term {}", number_, wanted.index, wanted.term);
    world_.invariants.installed(number_, wanted.index);
    applied_membership_ = whole->membership;
    applied_term_ = wanted.term;
    snapshot_index_ = wanted.index;
    apply_to_ = std::max(apply_to_, wanted.index);
    while (!writes_.empty() && writes_.begin()->first <= wanted.index) {
      answer(writes_.extract(writes_.begin()).mapped(), {.outcome = Answer::Outcome::uncertain});
    }
    post(raft::SnapshotInstalled{wanted.index});
    answer_reads();
    return apply_soon();
  }
  // It cannot be read back: the server ends, as it would with a log that cannot be written.
  end_of_storage();
}

}  // namespace drover::simulation
