// Snapshots on disk: snap-<index>-<term>/ with `data` (chunks, each with its checksum) and `manifest` (what it is, and
// the checksum of the whole). Written under another name, made durable, renamed, and only then counted. Two are kept.
// Owned by the driver; save runs on [snapshot], the rest before it starts.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernel/raft/file_system.h"
#include "kernel/raft/raft.h"

namespace drover::raft {

class SnapshotStore {
 public:
  static constexpr size_t kKept = 2;
  static constexpr size_t kChunkBytes = 1 << 20;

  // Removes what an unfinished save left behind.
  static Result<std::unique_ptr<SnapshotStore>> open(FileSystem& files, std::string directory);

  // Newest first, by index; only index and term are filled in. [any]
  std::vector<SnapshotInfo> list() const;

  // Durable when it returns. Older ones beyond kKept are removed. `is_cancelled` is asked between chunks.
  Result<SnapshotInfo> save(Index index, Term term, const Membership& membership, SnapshotSource& source,
                            const std::function<bool()>& is_cancelled);

  // Reads all of it and checks every checksum. Errors: data_loss names file and offset; failed_precondition for a newer
  // format.
  Result<SnapshotInfo> verify(const SnapshotInfo& snapshot) const;
  // Checks again while it reads.
  Result<std::unique_ptr<ByteSource>> read(const SnapshotInfo& snapshot) const;

 private:
  SnapshotStore(FileSystem& files, std::string directory) : files_(files), directory_(std::move(directory)) {}
  std::string path(const SnapshotInfo& snapshot, const char* prefix) const;
  Status discard(const std::string& directory);

  FileSystem& files_;
  const std::string directory_;
  mutable std::mutex mutex_;  // guards kept_
  std::vector<SnapshotInfo> kept_;
};

}  // namespace drover::raft
