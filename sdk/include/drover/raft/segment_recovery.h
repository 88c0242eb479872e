// Reads a log directory and decides what it says: the state to go on from, a torn end to cut, or damage to refuse.
// Changes nothing on disk. Runs once, before the log's threads start.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drover/raft/file_system.h"
#include "drover/raft/log_index.h"
#include "drover/raft/segment_format.h"

namespace drover::raft {

// What recovery found, before anything new is written.
struct LogState {
  HardState hard_state;
  Index first_index = 1;  // of the first entry held, or where it would be
  Term prev_term = 0;     // at first_index - 1
  Index last_index = 0;   // first_index - 1 when empty
  Term last_term = 0;
  Membership membership;  // the newest known to be in force; index 0 when none was written
  uint64_t write_seq = 0;
  uint64_t torn_bytes = 0;  // cut from the end: a write that was never confirmed
  bool is_fresh = true;     // nothing was there
  bool was_clean = false;   // the last stop was orderly
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
  std::vector<SegmentInfo> segments;  // by seq
  ClusterId cluster_id;
  NodeId node_id;
  uint64_t batch_seq = 0;              // of the last good batch
  uint32_t chain = 0;                  // its crc
  std::vector<std::string> spares;     // names of prepared files
  std::vector<std::string> leftovers;  // names of files that never came into use

  explicit Recovery(uint64_t cache_bytes) : index(cache_bytes) {}
};

std::string segment_name(uint64_t seq);  // "seg-00000000000000000007.log"

// Errors: data_loss names file and offset; failed_precondition for a newer format, or another node's or cluster's log
// (a zero id accepts any).
Result<Recovery> recover_log(FileSystem& files, const std::string& directory, ClusterId cluster_id, NodeId node_id,
                             uint64_t cache_bytes);

}  // namespace drover::raft
