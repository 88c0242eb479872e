// Records of what is mounted on this node for which allocation, and how far: on disk before anything follows from
// them. [any]
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "drover/mutex.h"
#include "drover/plugin.h"
#include "keeper/mount_plan.h"

namespace drover::mounts {

class MountRecords {
 public:
  // Reads what a former life of the agent has left. Once, before all else. Errors: those of the store.
  Status open(LocalStore& store);

  std::optional<Mount> find(const MountKey& key) const;
  std::vector<Mount> all() const;
  std::vector<Mount> of_alloc(const Uuid& alloc) const;
  // Both are durable when they return.
  Status put(const Mount& mount);
  Status remove(const MountKey& key);

 private:
  LocalStore* store_ = nullptr;
  Mutex writing_;  // held while the store writes, so that the row written last is the newest
  mutable Mutex mutex_;
  std::map<MountKey, Mount> mounts_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::mounts
