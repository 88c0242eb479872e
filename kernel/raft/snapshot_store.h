// Snapshots on disk: snap-<index>-<term>/ with `data` (chunks, each with its checksum) and `manifest` (what it is, and
// the checksum of the whole). Written under another name, made durable, renamed, and only then counted. Two are kept.
// A snapshot that came from a leader is called recv-<index>-<term>: it may be ahead of this server's log.
// Owned by the driver; save runs on [snapshot], reading and receiving on [transfer] and [apply].
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drover/mutex.h"
#include "kernel/raft/raft.h"
#include "storage/file_system.h"

namespace drover::raft {

// A snapshot as the bytes that travel: the manifest, then the data file. Holds its files open: a snapshot that is
// replaced meanwhile can still be read to the end. [transfer]
class SnapshotReader {
 public:
  SnapshotReader(SnapshotInfo info, std::string manifest, std::unique_ptr<File> data, uint64_t data_bytes)
      : info_(std::move(info)), manifest_(std::move(manifest)), data_(std::move(data)), data_bytes_(data_bytes) {}

  const SnapshotInfo& info() const { return info_; }
  uint64_t manifest_bytes() const { return manifest_.size(); }
  uint64_t total_bytes() const { return manifest_.size() + data_bytes_; }
  // Up to `most` bytes from the offset; the manifest's and the data's never in one piece.
  Result<std::string> read(uint64_t offset, uint64_t most) const;

 private:
  const SnapshotInfo info_;
  const std::string manifest_;
  const std::unique_ptr<File> data_;
  const uint64_t data_bytes_;
};

class SnapshotStore;

// The other end: takes the same bytes in order. An unfinished one leaves nothing behind. [transfer]
class SnapshotReceiver {
 public:
  ~SnapshotReceiver();

  Index index() const { return info_.index; }
  Term term() const { return info_.term; }
  uint64_t offset() const { return offset_; }  // of the next byte wanted
  bool is_whole() const { return offset_ == total_bytes_; }
  // Requires: offset() is where the bytes belong. Errors: invalid_argument when there are too many; the disk's own.
  Status write(std::string_view bytes);
  // Verifies every checksum, then makes it durable and known to the store. Requires: is_whole().
  Result<SnapshotInfo> finish();

 private:
  friend class SnapshotStore;
  SnapshotReceiver(SnapshotStore& store, SnapshotInfo info, uint64_t manifest_bytes, uint64_t total_bytes)
      : store_(store), info_(std::move(info)), manifest_bytes_(manifest_bytes), total_bytes_(total_bytes) {}

  SnapshotStore& store_;
  const SnapshotInfo info_;
  const uint64_t manifest_bytes_;
  const uint64_t total_bytes_;
  uint64_t offset_ = 0;
  std::string manifest_;
  std::unique_ptr<File> data_;
  bool is_kept_ = false;
};

class SnapshotStore {
 public:
  static constexpr size_t kKept = 2;
  static constexpr size_t kChunkBytes = kSnapshotChunkBytes;

  // Removes what an unfinished save left behind.
  static Result<std::unique_ptr<SnapshotStore>> open(FileSystem& files, std::string directory);

  // Newest first, by index; only index and term are filled in. [any]
  std::vector<SnapshotInfo> list() const;

  // Durable when it returns. Older ones beyond kKept are removed. `is_cancelled` is asked between chunks.
  Result<SnapshotInfo> save(Index index, Term term, const Membership& membership, SnapshotSource& source,
                            const std::function<bool()>& is_cancelled);

  // Only what the manifest says.
  Result<SnapshotInfo> describe(const SnapshotInfo& snapshot) const;
  // True when it came from a leader: then it may be ahead of the log, when an install was interrupted.
  bool was_received(const SnapshotInfo& snapshot) const;

  Result<std::unique_ptr<SnapshotReader>> open_to_send(const SnapshotInfo& snapshot) const;
  Result<std::unique_ptr<SnapshotReceiver>> receive(Index index, Term term, uint64_t manifest_bytes,
                                                    uint64_t total_bytes);

  // Reads all of it and checks every checksum. Errors: data_loss names file and offset; failed_precondition for a newer
  // format.
  Result<SnapshotInfo> verify(const SnapshotInfo& snapshot) const;
  // Quarantines a damaged snapshot. Readers that already have it open are not affected.
  Status set_aside(const SnapshotInfo& snapshot);
  // Checks again while it reads.
  Result<std::unique_ptr<ByteSource>> read(const SnapshotInfo& snapshot) const;

 private:
  friend class SnapshotReceiver;
  struct Kept {
    SnapshotInfo info;  // index and term
    bool was_received = false;
  };

  SnapshotStore(FileSystem& files, std::string directory) : files_(files), directory_(std::move(directory)) {}
  std::string path(const SnapshotInfo& snapshot, const char* prefix) const;
  std::string place(const SnapshotInfo& snapshot) const;  // of one that is kept
  Status discard(const std::string& directory);
  // Adds a whole one under its temporary name to those that are kept; removes the oldest.
  Status keep(const SnapshotInfo& snapshot, const std::string& part, bool was_received);

  FileSystem& files_;
  const std::string directory_;
  mutable Mutex mutex_;
  std::vector<Kept> kept_ DROVER_GUARDED_BY(mutex_);  // newest first, by index
};

}  // namespace drover::raft
