// Reads a log directory and decides what it says: the state to go on from, a torn end to cut, or damage to refuse.
// Changes nothing on disk. Runs once, before the log's threads start.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel/raft/file_system.h"
#include "kernel/raft/log.h"
#include "kernel/raft/log_index.h"
#include "kernel/raft/segment_format.h"

namespace drover::raft {

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
