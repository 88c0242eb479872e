// When a node forgets allocations that are over, and which. Pure.
#pragma once

#include <cstdint>
#include <optional>
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
  int64_t free_mb = 0;     // for allocations
  int64_t needed_mb = 0;   // by those that are about to start
  size_t allocations = 0;  // those that are about to start among them
};

struct CollectNeed {
  std::string reason;  // empty: nothing has to go
  size_t most = 0;     // that go at once
};
// At the regular look; `needed_mb` does not matter.
CollectNeed need_of_look(const CollectLimits& limits, const CollectState& state);
// Before allocations start.
CollectNeed need_of_start(const CollectLimits& limits, const CollectState& state);

struct Collectable {
  Uuid id;
  std::optional<int64_t> ended{};  // nanoseconds since 1970; absent: it is not over
  std::optional<Uuid> inherits{};  // it has yet to take over the data of this one
};
// Those that ended first, at most so many, without those of whose data somebody has need.
std::vector<Uuid> first_to_go(const std::vector<Collectable>& allocations, size_t most);

}  // namespace drover::agent
