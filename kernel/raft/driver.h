// Runs consensus for one server: joins the core, the log, the snapshots, the state machine and the peers.
//
//   [raft] decides ──▶ [log] makes durable ──▶ [raft] ──▶ [apply] puts into the state ──▶ answers
//      ▲  │                                                  └─ frozen state ──▶ [snapshot] saves
//   peers └──▶ [transfer] reads old entries, sends and receives snapshots        [scrub] reads all of it again
//
// Each bracket is a loop over one step. In production a thread runs each; the simulator runs the steps itself, in an
// order of its own (Stepped).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "kernel/raft/raft.h"
#include "kernel/raft/segment_log.h"
#include "kernel/raft/transport.h"
#include "storage/file_system.h"

namespace drover::raft {

struct Options {
  std::string directory;  // raft/ under the data directory; made if absent, its parent must exist
  NodeId node_id;         // zero: the one on disk, or a new one
  ClusterId cluster_id;   // the same
  std::string address;    // under which others reach this server; a sole voter follows a change across restarts

  // The voters of a new cluster, when this server has never been part of one. Empty: waits for bootstrap(), or for a
  // leader that adds it.
  std::vector<Member> bootstrap{};
  bool bootstrap_alone = true;  // as a cluster of this server, when `bootstrap` is empty

  std::chrono::milliseconds tick{100};
  int heartbeat_ticks = 1;
  int election_ticks = 10;  // to twice as many
  bool lease_reads = false;
  // How long the machine has been suspended since it was started. Ticks and leases count it, for the others' clocks
  // went on; the clock's steady time need not. May jitter. Null: never.
  std::function<std::chrono::nanoseconds()> suspended{};
  std::function<void()> on_tick{};  // [raft] must not block
  uint64_t seed = 0;                // of election timeouts; 0: random

  uint64_t max_entry_bytes = 8ull << 20;
  uint64_t warn_entry_bytes = 1ull << 20;
  uint64_t append_bytes = 1ull << 20;  // of entries in one message
  size_t window_messages = 256;        // in flight to one peer
  uint64_t window_bytes = 32ull << 20;
  uint64_t max_uncommitted_bytes = 64ull << 20;
  uint64_t max_unapplied_bytes = 64ull << 20;
  uint64_t apply_batch_bytes = 1ull << 20;
  uint64_t snapshot_threshold_bytes = 64ull << 20;  // of log since the last one, or its size if that is more
  uint64_t snapshot_trail_bytes = 32ull << 20;      // of log kept behind a snapshot
  uint64_t snapshot_rate_bytes = 128ull << 20;      // sent a second, to all peers together
  // How long after the last one the log and the snapshots are read again, to see whether the disk still holds them; 0:
  // never.
  std::chrono::nanoseconds scrub_interval = std::chrono::hours(24);
  uint64_t scrub_rate_bytes = 8ull << 20;  // a second
  SegmentLogOptions log;                   // directory and identifiers are filled in from above
};

// Starts nothing. Everything must outlive it; without a transport it is a cluster of its own.
std::unique_ptr<Consensus> make_consensus(Options options, StateMachine& machine, FileSystem& files, const Clock& clock,
                                          Transport* transport = nullptr);

// The same without threads. stop() is the orderly end; destruction without it is a crash.
class Stepped : public Consensus {
 public:
  // Each does one piece of work and says whether there was any.
  virtual bool step_raft() = 0;
  virtual bool step_log(SegmentLog::Idle idle) = 0;
  virtual bool step_fill() = 0;
  virtual bool step_apply() = 0;
  virtual bool step_save() = 0;
  virtual bool step_transfer() = 0;
  virtual bool step_scrub() = 0;
};
std::unique_ptr<Stepped> make_stepped(Options options, StateMachine& machine, FileSystem& files, const Clock& clock,
                                      Transport& transport);

}  // namespace drover::raft
