// Runs consensus for one server: joins the log, the snapshots and the state machine, and owns their threads.
//
//   propose ──inbox──▶ [raft] ──LogWrite──▶ [log] ──durable──▶ [raft] ──commit──▶ [apply] ──▶ done
//                                                                                    └─ frozen state ──▶ [snapshot]
//
// This is the driver of a cluster of one voter. Every start opens a new term, votes for itself, and leads once the log,
// the vote and the term's first entry are durable; its own copy counts when it is durable, as everybody's does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "drover/clock.h"
#include "kernel/raft/file_system.h"
#include "kernel/raft/raft.h"
#include "kernel/raft/segment_log.h"

namespace drover::raft {

struct Options {
  std::string directory;  // raft/ under the data directory; made if absent, its parent must exist
  NodeId node_id;         // zero: the one on disk, or a new one
  ClusterId cluster_id;   // the same
  std::string address;    // under which others would reach this server; follows a change across restarts

  uint64_t max_entry_bytes = 8ull << 20;
  uint64_t warn_entry_bytes = 1ull << 20;
  uint64_t max_uncommitted_bytes = 64ull << 20;
  uint64_t max_unapplied_bytes = 64ull << 20;
  uint64_t apply_batch_bytes = 1ull << 20;
  uint64_t snapshot_threshold_bytes = 64ull << 20;  // of log since the last one, or its size if that is more
  uint64_t snapshot_trail_bytes = 32ull << 20;      // of log kept behind a snapshot
  SegmentLogOptions log;                            // directory and identifiers are filled in from above
};

// Starts nothing. `machine`, `files` and `clock` must outlive it.
std::unique_ptr<Consensus> make_consensus(Options options, StateMachine& machine, FileSystem& files,
                                          const Clock& clock);

}  // namespace drover::raft
