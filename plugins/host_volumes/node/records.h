// Keeps what this node knows of its volumes, in memory and in the agent's store: written before a step and after it.
// [any]
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "drover/mutex.h"
#include "drover/plugin.h"

namespace drover::host_volumes {

class StoredVolume;

class Records {
 public:
  // Reads all; forgets those of volumes that were deleted long ago. Errors: data_loss, naming a row.
  Status open(LocalStore& store, int64_t now);

  std::optional<StoredVolume> find(const std::string& id) const;
  // That stand for a volume: those of deleted ones do not.
  std::vector<StoredVolume> all() const;
  // Durable when it returns.
  Status put(const StoredVolume& volume);
  Status remove(const std::string& id);

 private:
  LocalStore* store_ = nullptr;
  mutable Mutex mutex_;
  std::map<std::string, std::string> volumes_ DROVER_GUARDED_BY(mutex_);  // as they are stored, by identifier
};

}  // namespace drover::host_volumes
