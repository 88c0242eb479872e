// [apply]: puts committed entries into the state machine, answers their proposers, and freezes the state for snapshots.
// step() and wait() belong to the one thread, or to the simulator; the rest as marked.
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "drover/mutex.h"
#include "kernel/raft/board.h"
#include "kernel/raft/driver.h"
#include "kernel/raft/log.h"
#include "kernel/raft/raft.h"

namespace drover::raft {

class RaftLoop;
class SaveLoop;
class SnapshotStore;

class ApplyLoop {
 public:
  ApplyLoop(const Options& options, const Clock& clock, StateMachine& machine, Log& log, SnapshotStore& snapshots,
            Board& board, Waiters& waiters)
      : options_(options),
        clock_(clock),
        machine_(machine),
        log_(log),
        snapshots_(snapshots),
        board_(board),
        waiters_(waiters) {}

  // Before anything runs.
  void connect(RaftLoop& raft, SaveLoop& save);
  void begin(const Membership& applied);

  // Entries up to here may be applied (0: no more than before); those with a token were proposed here. [raft]
  void commit(Index upto, std::vector<std::pair<Index, uint64_t>> proposed);
  // Replaces the state by an arrived snapshot, before the log is told to drop the old entries. [raft]
  void install(SnapshotInfo snapshot);
  void want_snapshot(Consensus::SnapshotDone done);  // [any]
  void saved(const Result<SnapshotInfo>& snapshot);  // the saver is free again [snapshot]

  bool step();  // whether there was anything to do
  bool wait();  // until there is; false when closed and everything committed is applied
  void close();
  // After the last step: refuses the snapshots that nobody will take.
  void abandon(const Status& why);

  ThreadChecker thread{"apply"};  // bound where the loop has a thread of its own

 private:
  bool has_work() const DROVER_REQUIRES(mutex_);
  void apply_batch(Index commit);
  void restore(const SnapshotInfo& snapshot);
  // The callers that proposed entries up to here and have not been answered.
  std::vector<std::pair<Index, Waiters::Waiter>> take_waiting(Index upto);
  void answer(Index first, const std::vector<Entry>& entries, std::vector<Result<std::string>>& answers);
  void freeze(std::vector<Consensus::SnapshotDone> done);

  const Options& options_;
  const Clock& clock_;
  StateMachine& machine_;
  Log& log_;
  SnapshotStore& snapshots_;
  Board& board_;
  Waiters& waiters_;
  RaftLoop* raft_ = nullptr;
  SaveLoop* save_ = nullptr;

  // [apply]
  Membership applied_membership_;
  uint64_t bytes_since_snapshot_ = 0;

  mutable Mutex mutex_;  // a leaf
  CondVar wake_;
  Index commit_ DROVER_GUARDED_BY(mutex_) = 0;
  std::deque<std::pair<Index, uint64_t>> proposed_ DROVER_GUARDED_BY(mutex_);  // by index
  std::optional<SnapshotInfo> install_ DROVER_GUARDED_BY(mutex_);
  std::vector<Consensus::SnapshotDone> wanted_ DROVER_GUARDED_BY(mutex_);
  bool is_saving_ DROVER_GUARDED_BY(mutex_) = false;
  std::vector<Consensus::SnapshotDone> saving_for_ DROVER_GUARDED_BY(mutex_);
  bool is_closed_ DROVER_GUARDED_BY(mutex_) = true;  // until begin()

  std::atomic<bool> is_stuck_{false};  // a committed entry could not be read back: nothing more is applied
};

}  // namespace drover::raft
