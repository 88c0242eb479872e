// [scrub]: reads the log and the snapshots again while nobody needs them, at a bounded rate, and reports bytes that the
// disk has lost before a restart would. It changes nothing: repair belongs to the start.
#pragma once

#include <deque>
#include <memory>

#include "drover/mutex.h"
#include "kernel/raft/board.h"
#include "kernel/raft/driver.h"
#include "kernel/raft/log.h"
#include "kernel/raft/raft.h"

namespace drover::raft {

class SnapshotStore;

class ScrubLoop {
 public:
  ScrubLoop(const Options& options, const Clock& clock, const Log& log, const SnapshotStore& snapshots, Board& board)
      : options_(options), clock_(clock), log_(log), snapshots_(snapshots), board_(board) {}

  // Checks one batch of the log or one piece of a snapshot, when it is due; true when there was any.
  bool step();
  bool wait();  // until something is due; false when closed
  void close();

  ThreadChecker thread{"scrub"};  // bound where the loop has a thread of its own

 private:
  void begin();
  void read_log();
  void read_snapshot();
  void end();
  void found(const Status& what);
  void has_read(uint64_t bytes);

  const Options& options_;
  const Clock& clock_;
  const Log& log_;
  const SnapshotStore& snapshots_;
  Board& board_;

  // [scrub]
  bool is_under_way_ = false;
  Index next_ = 0;       // of the log
  Index log_end_ = 0;    // durable when the round began
  uint64_t errors_ = 0;  // in this round
  std::deque<SnapshotInfo> snapshots_left_;
  std::unique_ptr<ByteSource> reading_;
  SteadyTime due_ = clock_.steady() + options_.scrub_interval;

  Mutex mutex_;  // a leaf
  CondVar wake_;
  bool is_closed_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::raft
