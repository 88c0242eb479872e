#include "kernel/raft/apply_loop.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "drover/log.h"
#include "kernel/raft/raft_loop.h"
#include "kernel/raft/save_loop.h"
#include "kernel/raft/snapshot_store.h"
#include "storage/segment_format.h"

namespace drover::raft {
namespace {

Status replaced() { return uncertain("a snapshot of another leader took the place of what this server had to apply"); }

}  // namespace

void ApplyLoop::connect(RaftLoop& raft, SaveLoop& save) {
  raft_ = &raft;
  save_ = &save;
}

void ApplyLoop::begin(const Membership& applied) {
  applied_membership_ = applied;
  const MutexLock lock(mutex_);
  commit_ = board_.applied;
  is_closed_ = false;
}

void ApplyLoop::commit(Index upto, std::vector<std::pair<Index, uint64_t>> proposed) {
  {
    const MutexLock lock(mutex_);
    commit_ = std::max(commit_, upto);
    proposed_.insert(proposed_.end(), proposed.begin(), proposed.end());
  }
  wake_.notify_one();
}

void ApplyLoop::install(SnapshotInfo snapshot) {
  const MutexLock lock(mutex_);
  install_ = std::move(snapshot);
  wake_.notify_one();
}

void ApplyLoop::want_snapshot(Consensus::SnapshotDone done) {
  {
    const MutexLock lock(mutex_);
    if (!is_closed_) {
      wanted_.push_back(std::move(done));
      done = nullptr;
    }
  }
  wake_.notify_one();
  if (done) done(unavailable("this server is not running"));
}

void ApplyLoop::saved(const Result<SnapshotInfo>& snapshot) {
  std::vector<Consensus::SnapshotDone> told;
  {
    const MutexLock lock(mutex_);
    is_saving_ = false;
    told.swap(saving_for_);
  }
  wake_.notify_one();
  for (const Consensus::SnapshotDone& done : told) done(snapshot);
}

void ApplyLoop::close() {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  wake_.notify_one();
}

void ApplyLoop::abandon(const Status& why) {
  saved(why);  // or not: this disk may never have got that far
  std::vector<Consensus::SnapshotDone> wanted;
  {
    const MutexLock lock(mutex_);
    wanted.swap(wanted_);
  }
  for (const Consensus::SnapshotDone& done : wanted) done(why);
}

bool ApplyLoop::has_work() const {
  return !is_stuck_ && (commit_ > board_.applied || install_ || (!wanted_.empty() && !is_saving_ && !is_closed_));
}

bool ApplyLoop::wait() {
  MutexLock lock(mutex_);
  wake_.wait(lock, [&]() DROVER_REQUIRES(mutex_) { return has_work() || is_closed_; });
  return has_work();
}

bool ApplyLoop::step() {
  DROVER_ASSERT_ON(thread);
  Index commit = 0;
  std::optional<SnapshotInfo> install;
  std::vector<Consensus::SnapshotDone> wanted;
  bool may_save = false;
  {
    const MutexLock lock(mutex_);
    if (!has_work()) return false;
    commit = commit_;
    install = std::exchange(install_, std::nullopt);
    may_save = !is_saving_ && !is_closed_;
    if (may_save) wanted.swap(wanted_);
  }
  if (install) {
    restore(*install);
  } else if (commit > board_.applied) {
    apply_batch(commit);
  }
  uint64_t threshold = options_.snapshot_threshold_bytes;
  {
    const MutexLock lock(board_.mutex);
    threshold = std::max(threshold, board_.newest.bytes);
  }
  const bool is_due = bytes_since_snapshot_ > threshold && may_save && !board_.is_giving_up;
  if (!is_stuck_ && (!wanted.empty() || is_due)) freeze(std::move(wanted));
  return true;
}

void ApplyLoop::apply_batch(Index commit) {
  const Index first = board_.applied + 1;
  Result<std::vector<Entry>> entries = log_.read(first, commit, options_.apply_batch_bytes);
  if (!entries.ok()) {
    {
      const MutexLock lock(mutex_);
      if (install_) return;  // the log has been cut for a snapshot that replaces all this
    }
    // A committed entry that cannot be read back: going on without it would fork the state.
    is_stuck_ = true;
    options_.log.on_failure(entries.status());
    return;
  }
  std::vector<Result<std::string>> answers;
  answers.reserve(entries->size());
  machine_.apply(*entries, answers);
  const Index last = entries->back().index;
  DROVER_CHECK(answers.size() == entries->size());
  DROVER_CHECK(machine_.applied_index() == last);  // the state moves by exactly these entries
  for (const Entry& entry : *entries) {
    bytes_since_snapshot_ += entry_bytes(entry);
    if (entry.type != EntryType::membership || epoch_of(entry.term) != epoch_of(board_.term)) continue;
    if (Result<Membership> membership = decode_membership(entry.bytes()); membership.ok()) {
      applied_membership_ = *std::move(membership);
      applied_membership_.index = entry.index;
    }
  }
  board_.applied = last;
  answer(first, *entries, answers);
  if (last >= raft_->awaited()) raft_->applied();
}

std::vector<std::pair<Index, Waiters::Waiter>> ApplyLoop::take_waiting(Index upto) {
  std::vector<std::pair<Index, uint64_t>> due;
  {
    const MutexLock lock(mutex_);
    while (!proposed_.empty() && proposed_.front().first <= upto) {
      due.push_back(proposed_.front());
      proposed_.pop_front();
    }
  }
  std::vector<std::pair<Index, Waiters::Waiter>> waiting;
  for (const auto& [index, token] : due) {
    std::optional<Waiters::Waiter> waiter = waiters_.take(token);
    if (!waiter) continue;
    board_.unapplied_bytes -= waiter->bytes;
    waiting.emplace_back(index, *std::move(waiter));
  }
  return waiting;
}

void ApplyLoop::answer(Index first, const std::vector<Entry>& entries, std::vector<Result<std::string>>& answers) {
  const SteadyTime now = clock_.steady();
  auto waiting = take_waiting(first + entries.size() - 1);
  board_.update_stats([&](Stats& stats) {
    ++stats.apply_batches;
    stats.applied_entries += entries.size();
    stats.proposals += waiting.size();
    for (const auto& [index, waiter] : waiting) {
      if (!waiter.done) continue;
      stats.commit.add(static_cast<uint64_t>(std::chrono::nanoseconds(now - waiter.begun).count()));
    }
  });
  for (auto& [index, waiter] : waiting) {
    if (!waiter.done) continue;
    if (index < first) {
      waiter.done(replaced());
      continue;
    }
    Result<std::string>& answer = answers[index - first];
    if (answer.ok() || entries[index - first].type != EntryType::command) {
      waiter.done(Applied{index, answer.ok() ? *std::move(answer) : std::string()});
    } else {
      waiter.done(answer.status());
    }
  }
}

void ApplyLoop::restore(const SnapshotInfo& snapshot) {
  const Result<SnapshotInfo> info = snapshots_.describe(snapshot);
  Result<std::unique_ptr<ByteSource>> source = info.ok() ? snapshots_.read(*info) : info.status();
  const Status status = source.ok() ? machine_.restore(**source) : source.status();
  if (!status.ok()) {
    // It was verified when it came, and the log behind it is gone.
    is_stuck_ = true;
    options_.log.on_failure(status.with_context("install snapshot " + std::to_string(snapshot.index)));
    return;
  }
  DROVER_CHECK(machine_.applied_index() == snapshot.index);
  applied_membership_ = epoch_of(snapshot.term) == epoch_of(board_.term) ? info->membership : Membership();
  bytes_since_snapshot_ = 0;
  raft_->push(SnapshotInstalled{snapshot.index});  // before the board shows it
  board_.applied = snapshot.index;
  if (snapshot.index >= raft_->awaited()) raft_->applied();
  {
    const MutexLock lock(board_.mutex);
    board_.newest = *info;
    ++board_.stats.snapshots_installed;
  }
  log::info("raft", "a snapshot of the leader is in place", {{"index", info->index}, {"bytes", info->bytes}});
  // The snapshot contains the proposals of this server that were committed and not applied yet; their answers are lost.
  for (auto& [index, waiter] : take_waiting(snapshot.index)) {
    if (waiter.done) waiter.done(replaced());
  }
}

// Freezes the state for [snapshot].
void ApplyLoop::freeze(std::vector<Consensus::SnapshotDone> done) {
  const Index index = board_.applied;
  std::optional<SnapshotInfo> existing;
  {
    const MutexLock lock(board_.mutex);
    if (board_.newest.index == index) existing = board_.newest;
  }
  if (existing) {
    for (const Consensus::SnapshotDone& call : done) call(*existing);
    return;
  }
  const Result<Term> term = log_.term_at(index);
  {
    const MutexLock lock(mutex_);
    if (install_) {  // the log is being cut for it; who asked gets that one
      wanted_.insert(wanted_.end(), std::make_move_iterator(done.begin()), std::make_move_iterator(done.end()));
      return;
    }
    is_saving_ = true;
    saving_for_ = std::move(done);
  }
  DROVER_CHECK(term.ok());
  bytes_since_snapshot_ = 0;
  SaveLoop::Frozen frozen{.source = machine_.snapshot(), .term = *term, .membership = applied_membership_};
  DROVER_CHECK(frozen.source != nullptr && frozen.source->index() == index);
  save_->save(std::move(frozen));
}

}  // namespace drover::raft
