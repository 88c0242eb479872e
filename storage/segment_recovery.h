// Reads a log directory and decides what it says: the state to go on from, a torn end to cut, or damage: to refuse, or
// to keep what stands before it. Changes nothing on disk. Runs once, before the log's threads start.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/file_system.h"
#include "storage/log_index.h"
#include "storage/segment_format.h"

namespace drover::raft {

// The result of recovery, before anything new is written.
struct LogState {
  HardState hard_state;
  Index first_index = 1;  // of the first entry held, or where it would be
  Term prev_term = 0;     // at first_index - 1
  Index last_index = 0;   // first_index - 1 when empty
  Term last_term = 0;
  Membership membership;  // the newest known to be in force; index 0 when none was written
  // After a recovery from a lost quorum: stands for every membership that was set before it.
  Membership base_membership;
  uint64_t write_seq = 0;
  uint64_t torn_bytes = 0;  // cut from the end: a write that was never confirmed
  bool is_fresh = true;     // nothing was there
  bool was_clean = false;   // the last stop was orderly
  // Less is left than had been confirmed, and nobody has made it whole since: found now, or said by the damage mark
  // (segment_repair.h).
  bool is_damaged = false;
};

// The answer to damage: `keep_prefix` goes on with the entries before it, if another server can send the rest.
enum class OnDamage : uint8_t { refuse, keep_prefix };

struct LogDamage {
  std::string what;           // with file and offset
  uint64_t segment = 0;       // the first that is not wholly good …
  uint64_t end = 0;           // … and where what is good in it ends; 0: nothing of it is
  std::vector<uint64_t> all;  // the segments from there on that exist, by seq
};

struct SegmentInfo {
  uint64_t seq = 0;
  uint64_t salt = 0;
  uint64_t capacity = 0;
  uint64_t end = 0;     // of the last good batch
  Index max_index = 0;  // of the entries ever written here
};

struct Recovery {
  LogState state;
  LogIndex index;
  std::vector<SegmentInfo> segments;  // by seq; those of the prefix when there is damage
  std::optional<LogDamage> damage;    // found now: the directory must be set right before anything is written
  ClusterId cluster_id;
  NodeId node_id;
  ClusterId former_cluster_id;         // before the newest segment, if that begins a cluster and holds nothing yet
  uint64_t batch_seq = 0;              // of the last good batch
  uint32_t chain = 0;                  // its crc
  std::vector<std::string> spares;     // names of prepared files
  std::vector<std::string> leftovers;  // names of files that never came into use

  explicit Recovery(uint64_t cache_bytes) : index(cache_bytes) {}
};

std::string segment_name(uint64_t seq);  // "seg-00000000000000000007.log"

// With keep_prefix the hard state is the newest that is legible anywhere, so no promise is forgotten with the entries.
// Errors: data_loss names file and offset, and says why the damage cannot be repaired from other servers where that was
// asked for; failed_precondition for a newer format, or another node's or cluster's log (a zero id accepts any).
Result<Recovery> recover_log(FileSystem& files, const std::string& directory, ClusterId cluster_id, NodeId node_id,
                             uint64_t cache_bytes, OnDamage on_damage = OnDamage::refuse);

}  // namespace drover::raft
