// [snapshot]: streams a frozen state to disk while apply goes on.
#pragma once

#include <memory>
#include <optional>

#include "drover/mutex.h"
#include "kernel/raft/board.h"
#include "kernel/raft/driver.h"
#include "kernel/raft/log.h"
#include "kernel/raft/raft.h"

namespace drover::raft {

class ApplyLoop;
class RaftLoop;
class SnapshotStore;

class SaveLoop {
 public:
  struct Frozen {
    std::unique_ptr<SnapshotSource> source;
    Term term = 0;
    Membership membership;
  };

  SaveLoop(const Options& options, const Clock& clock, Log& log, SnapshotStore& snapshots, Board& board)
      : options_(options), clock_(clock), log_(log), snapshots_(snapshots), board_(board) {}

  void connect(RaftLoop& raft, ApplyLoop& apply);
  void save(Frozen frozen);  // one at a time: the next after ApplyLoop::saved() [apply]

  void durable();  // the log has got further [log]

  bool step();  // whether there was anything to do
  bool wait();  // until there is; false when closed
  void close();

  ThreadChecker thread{"snapshot"};  // bound where the loop has a thread of its own

 private:
  bool has_work() const DROVER_REQUIRES(mutex_);

  const Options& options_;
  const Clock& clock_;
  Log& log_;
  SnapshotStore& snapshots_;
  Board& board_;
  RaftLoop* raft_ = nullptr;
  ApplyLoop* apply_ = nullptr;

  Mutex mutex_;  // a leaf
  CondVar wake_;
  std::optional<Frozen> frozen_ DROVER_GUARDED_BY(mutex_);
  bool is_closed_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::raft
