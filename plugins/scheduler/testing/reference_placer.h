// Placing as the rules are written, for comparison: every node anew for each placement, by its rows alone, with no
// column, kind or memory of the placement before. Slow.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "drover/scheduler.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "placing/place.h"
#include "testing/storage_world.h"

namespace drover::scheduler::testing {

struct ReferenceWorld {
  std::vector<v1::Node> nodes;
  std::vector<v1::Allocation> allocs;  // that take room
  std::string seed;
  PlacingRules rules = {};
  ImportanceOf importance = {};  // none: nothing is preempted
  std::map<std::tuple<std::string, std::string, std::string>, int32_t> evicted = {};
  StorageWorld storage = {};
  std::vector<v1::CsiClaim> own_claims = {};  // of what was placed meanwhile
};

struct ReferenceChoice {
  std::string node_id;  // empty: none will do
  v1::AllocMetric metric;
  std::set<std::string> evicted;  // allocations
};

ReferenceChoice place_by_the_rules(const ReferenceWorld& world, const v1::Job& job, const v1::TaskGroup& group,
                                   const GroupPlacer::Wish& wish, const std::string& alloc_name);

}  // namespace drover::scheduler::testing
