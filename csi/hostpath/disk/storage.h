// The folders and files of volumes and snapshots, below DIR/volumes and DIR/snapshots by their identifiers. Identifiers
// are the plugin's own: nothing that a caller says becomes a path. [any]
#pragma once

#include <cstdint>
#include <string>

#include "drover/result.h"

namespace drover::hostpath {

class Snapshot;
class Volume;
struct Room;

// The content of a volume, counted.
struct Usage {
  int64_t bytes = 0, inodes = 0;
  int64_t free_bytes = 0, free_inodes = 0, all_inodes = 0;  // of the file system below
};

class Storage {
 public:
  explicit Storage(std::string folder) : folder_(std::move(folder)) {}
  Status open();

  // From its source, or empty. What a former try left is removed first. On disk when it returns.
  Status make(const Volume& volume);
  Status make(const Snapshot& snapshot);
  Status remove(const Volume& volume);
  Status remove(const Snapshot& snapshot);
  // To its capacity; a block device's file. Never less than it is.
  Status grow(const Volume& volume);

  std::string path_of(const Volume& volume) const;
  std::string path_of(const Snapshot& snapshot) const;
  Result<Room> room() const;
  Result<Usage> usage(const Volume& volume) const;
  // Says what is wrong with it; empty when nothing is.
  std::string complaint(const Volume& volume) const;

 private:
  std::string volume_path(const std::string& id) const { return folder_ + "/volumes/" + id; }
  std::string snapshot_path(const std::string& id) const { return folder_ + "/snapshots/" + id; }
  Status make_empty(const Volume& volume);
  Status sync() const;

  const std::string folder_;
};

}  // namespace drover::hostpath
