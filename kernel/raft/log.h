// The replicated log of one server, which the consensus core writes to and reads back.
//
// Writes are submitted in order, numbered by the caller, and confirmed in order; nothing that is submitted blocks the
// caller. A write is all of: a truncation, entries, a hard state, a new first index; it becomes durable as one.
// Owned by the driver. Submitted to from [raft]; read from [any]; confirmations come on [log].
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "drover/result.h"
#include "kernel/raft/raft.h"
#include "storage/segment_recovery.h"
#include "storage/types.h"

namespace drover::raft {

struct LogWrite {
  uint64_t write_seq = 0;        // increases by one a write
  Index truncate_from = 0;       // entries at or above are void; 0: none
  std::vector<Entry> entries{};  // continue the log as it stands after the truncation
  std::optional<HardState> hard_state{};
  std::optional<Membership> membership{};  // now in force; kept with the segments, for when its entry is compacted away
  // Entries below are no longer needed; at most last index + 1. 0: as before.
  Index first_index = 0;
  // Drops everything and continues at first_index, behind an installed snapshot of (first_index - 1, prev_term).
  bool start_over = false;
  Term prev_term = 0;
};

class Log {
 public:
  virtual ~Log() = default;

  virtual LogState recovered() const = 0;
  // Zero: part of none yet.
  virtual ClusterId cluster_id() const = 0;
  // Requires: before the first write of a log that is part of none. Errors: failed_precondition when it is another's.
  virtual Status join_cluster(ClusterId cluster) = 0;
  // Begins to accept writes. `on_durable` runs on [log] with the newest confirmed write_seq and must not block.
  virtual void start(std::function<void(uint64_t write_seq)> on_durable) = 0;
  // Makes durable what was submitted, closes cleanly, joins. Idempotent.
  virtual void stop() = 0;

  virtual void submit(LogWrite write) = 0;  // [raft]
  // A damaged log has been made whole: from the next start on it counts as that. [raft]
  virtual void mark_whole() = 0;

  // Consecutive entries from `from` up to and including `to`, at least one, fewer when they exceed max_bytes; submitted
  // entries count before they are durable. Errors: out_of_range (compacted or beyond the end); data_loss.
  virtual Result<std::vector<Entry>> read(Index from, Index to, uint64_t max_bytes) const = 0;
  // Reads the batch with this entry from the disk, whatever memory holds. Errors: out_of_range (compacted, or not
  // durable); data_loss names file and offset; the disk's own.
  struct Verified {
    Status status;
    Index next = 0;      // the first entry behind the batch; 0 when it is not known
    uint64_t bytes = 0;  // that were read
  };
  virtual Verified verify(Index index) const = 0;
  // first_index - 1 included. Errors: out_of_range.
  virtual Result<Term> term_at(Index index) const = 0;
  virtual Index first_index() const = 0;
  virtual Index last_index() const = 0;
  virtual Index durable_index() const = 0;
  // The smallest index such that the entries from it up to `upto` take at least `bytes`, or first_index().
  virtual Index trail_start(Index upto, uint64_t bytes) const = 0;
  virtual LogStats stats() const = 0;
};

}  // namespace drover::raft
