// The repair of a log that is damaged below what it had confirmed, when another server can send the entries again
// (Alagappan et al., "Protocol-Aware Recovery for Consensus-Based Storage", FAST 2018): nothing is deleted, and no
// promise is forgotten.
//
//   whole ──damage found──▶ marked ──▶ set aside ──▶ damaged ──all is here again──▶ whole
//
// The mark is the file `damaged`: one block, a segment header with the ids, the newest legible hard state and the
// newest membership (docs/formats/raft-log.md). It is durable before the log is touched and removed last, so a server
// that stops anywhere in between is damaged still. Runs before the log's threads start, but for the removal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/result.h"
#include "storage/file_system.h"
#include "storage/segment_format.h"
#include "storage/segment_recovery.h"

namespace drover::raft {

inline constexpr size_t kMostQuarantined = 8;
inline constexpr const char* kDamageMark = "damaged";  // a file in the folder

// Errors: data_loss when there is one that is not legible; failed_precondition for a newer format.
Result<std::optional<SegmentHeader>> read_damage_mark(FileSystem& files, const std::string& directory);
// Replaces one that is there. Durable when it returns.
Status write_damage_mark(FileSystem& files, const std::string& directory, const Recovery& recovery);
Status remove_damage_mark(FileSystem& files, const std::string& directory);

// A new folder `quarantine/<n>`. Errors: failed_precondition when there are kMostQuarantined already.
Result<std::string> make_quarantine(FileSystem& files, const std::string& directory);

// Marks the log and moves the damaged part, and all behind it, into quarantine; the good part of the first damaged
// segment stays, as a segment. May be cut off anywhere and done again. Requires: recovery.damage. Returns the folder in
// quarantine.
Result<std::string> set_aside_damage(FileSystem& files, const std::string& directory, const Recovery& recovery);

// Starts a server on this directory, whose lock it holds: recovers the log, sets damage aside, carries out a peers
// file, and removes unfinished work. Errors: those of recover_log, set_aside_damage and apply_peers_file.
Result<Recovery> recover_directory(FileSystem& files, const std::string& directory, ClusterId cluster_id,
                                   NodeId node_id, uint64_t cache_bytes);

}  // namespace drover::raft
