// Which allocations that are over a node forgets, and when. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drover/uuid.h"

namespace drover::agent {

struct CollectLimits {
  double disk_percent = 80;    // of the file system with the allocations; from here on some go
  double inodes_percent = 70;  // the same
  size_t allocations = 50;     // those that run count, too; above this some go
  size_t at_once = 2;          // removed beside each other
};

struct CollectState {
  double disk_percent = 0, inodes_percent = 0;
  int64_t free_mb = 0;    // for allocations
  int64_t needed_mb = 0;  // by those that are about to start
  struct Allocation {
    Uuid id;
    std::optional<int64_t> ended{};  // nanoseconds since 1970; absent: it is not over
    std::optional<Uuid> inherits{};  // it has yet to take over the data of this one
  };
  std::vector<Allocation> allocations;
};

struct CollectPlan {
  std::string reason;         // empty: nothing has to go
  std::vector<Uuid> collect;  // now, those that ended first; empty with a reason: nothing can go
};
// For the regular look; `needed_mb` does not matter.
CollectPlan plan_collection(const CollectLimits& limits, const CollectState& state);
// For allocations that are about to start; they are among those of the state.
CollectPlan plan_room(const CollectLimits& limits, const CollectState& state);

}  // namespace drover::agent
