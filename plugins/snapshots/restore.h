// Puts a verified state in the place of the present one, by way of the log. [the call's thread]
//
//   verify ──▶ advance the log beyond the state's index ──▶ chunks ──▶ StateRestored
//
// Every server reads the same chunks from the log and replaces its state at the same index. A failure on the way leaves
// the state as it was; the chunks are removed.
#pragma once

#include <stop_token>
#include <string>

#include "drover/plugin.h"
#include "storage/snapshot_archive.h"
#include "temporary_file.h"

namespace drover::snapshots {

// Checks that this server could load the state: every byte, and that some loaded plugin declares each table. Errors:
// data_loss, failed_precondition.
Status verify_state(Host& host, const ArchiveMeta& meta, TemporaryFile& state);

// Returns the index at which the state was replaced. Requires: verify_state. Errors: unavailable when this server no
// longer leads; cancelled; deadline_exceeded leaves it open.
Result<uint64_t> restore_state(Host& host, const ArchiveMeta& meta, TemporaryFile& state, std::stop_token stop);

}  // namespace drover::snapshots
