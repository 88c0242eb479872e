// A server's starting point: the newest snapshot in the state machine, and the log behind it.
#pragma once

#include <optional>
#include <vector>

#include "kernel/raft/core/core.h"
#include "kernel/raft/raft.h"
#include "kernel/raft/segment_log.h"
#include "kernel/raft/snapshot_store.h"

namespace drover::raft {

struct Recovered {
  CoreState state;
  SnapshotInfo snapshot;                // in the state machine now; index 0: none
  std::optional<LogWrite> first_write;  // must be durable before the core runs; `state` is as after it

  // Never part of a cluster.
  bool is_new() const { return state.terms.last_index() == 0 && state.memberships.empty() && !state.is_damaged; }
  // Makes the first entry of a new cluster, and its identifier. Every voter makes the same, in whatever order it was
  // told the voters. Errors: failed_precondition when the log belongs to a cluster already.
  Status begin_cluster(std::vector<Member> voters, Log& log);
};

// Damaged snapshots go into quarantine. When no whole one reaches the log, and there are other voters, the log is given
// up as well and counts as damaged. Errors: data_loss when the disk holds less than was acknowledged and nobody can
// send it again (nothing is changed then); failed_precondition for a newer format; the state machine's own.
Result<Recovered> recover(SegmentLog& log, SnapshotStore& snapshots, StateMachine& machine);

}  // namespace drover::raft
