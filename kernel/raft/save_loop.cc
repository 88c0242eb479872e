#include "kernel/raft/save_loop.h"

#include <utility>

#include "drover/log.h"
#include "kernel/raft/apply_loop.h"
#include "kernel/raft/raft_loop.h"
#include "kernel/raft/snapshot_store.h"

namespace drover::raft {

void SaveLoop::connect(RaftLoop& raft, ApplyLoop& apply) {
  raft_ = &raft;
  apply_ = &apply;
}

void SaveLoop::save(Frozen frozen) {
  const MutexLock lock(mutex_);
  DROVER_CHECK(!frozen_);
  frozen_ = std::move(frozen);
  wake_.notify_one();
}

void SaveLoop::durable() {
  const MutexLock lock(mutex_);  // [snapshot] is either before its look at the log, or waiting
  if (frozen_) wake_.notify_one();
}

void SaveLoop::close() {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  wake_.notify_one();
}

// No snapshot is ahead of its own log (I1): a leader applies what others have before its own disk has it.
bool SaveLoop::has_work() const { return frozen_ && frozen_->source->index() <= log_.durable_index(); }

bool SaveLoop::wait() {
  MutexLock lock(mutex_);
  wake_.wait(lock, [&]() DROVER_REQUIRES(mutex_) { return has_work() || is_closed_; });
  return has_work();
}

bool SaveLoop::step() {
  DROVER_ASSERT_ON(thread);
  Frozen frozen;
  {
    const MutexLock lock(mutex_);
    if (!has_work()) return false;
    frozen = *std::exchange(frozen_, std::nullopt);
  }
  const SteadyTime begun = clock_.steady();
  const Index index = frozen.source->index();
  const Result<SnapshotInfo> saved = snapshots_.save(index, frozen.term, frozen.membership, *frozen.source,
                                                     [this] { return board_.is_giving_up.load(); });
  frozen.source.reset();
  {
    const MutexLock lock(board_.mutex);
    if (saved.ok()) {
      if (saved->index > board_.newest.index) board_.newest = *saved;
      board_.stats.snapshot_ns = static_cast<uint64_t>(std::chrono::nanoseconds(clock_.steady() - begun).count());
      ++board_.stats.snapshots_taken;
    } else {
      ++board_.stats.snapshots_failed;
    }
  }
  if (saved.ok()) {
    log::info("raft", "a snapshot is durable", {{"index", index}, {"bytes", saved->bytes}});
    raft_->push(SnapshotTaken{.index = index,
                              .term = saved->term,
                              .membership = saved->membership,
                              .first_index = log_.trail_start(index, options_.snapshot_trail_bytes)});
  } else if (saved.status().code() != Code::cancelled) {
    log::warn("raft", "a snapshot failed, the log is kept and the next one will be tried",
              {{"error", saved.status().message()}});
  }
  apply_->saved(saved);
  return true;
}

}  // namespace drover::raft
