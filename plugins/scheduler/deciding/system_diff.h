// Finds the changes that make a job's allocations one (or as many as its groups count) on each node: system and
// sysbatch. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "disconnects.h"
#include "reconcile.h"

namespace drover::scheduler {

struct SystemInput {
  const v1::Job* job = nullptr;            // null: the job is gone
  bool is_sysbatch = false;                // its allocations end: one that is over is done
  std::span<const v1::Allocation> allocs;  // all of the job's name
  // Where the job's allocations belong: ready, eligible, and within its datacenters and pool.
  std::set<std::string> nodes;
  // The status of a node; unspecified when the node is gone.
  std::function<v1::NodeStatus(const std::string& node_id)> node_status;
  // Whether the node is within the job's datacenters and pool, whether it takes work or not.
  std::function<bool(const std::string& node_id)> in_reach;
  // An earlier version of this job; null when it is no longer kept.
  std::function<const v1::Job*(uint64_t version)> version;
  // True when the allocation's node still meets the group's constraints.
  std::function<bool(const v1::Allocation& alloc, const v1::TaskGroup& group)> may_stay;
  int64_t now = 0;  // nanoseconds since 1970
};

// An allocation on a node that it is bound to.
struct SystemPlacement {
  std::string node_id;
  std::string name;
  std::string previous = {};       // that it replaces; empty: there is none
  std::string stop_previous = {};  // as Placement::stop_previous
};

struct SystemGroupPlan {
  std::vector<Stop> stops;
  std::vector<SystemPlacement> placements;
  std::vector<std::string> in_place;
  std::vector<Later> unknown;
  std::vector<std::string> reconnected;
  v1::DesiredUpdates desired;
};

struct SystemDiff {
  std::map<std::string, SystemGroupPlan> groups;  // also of groups that the job no longer has
  bool more_later = false;                        // a rolling update left some for its next step
};

SystemDiff system_diff(const SystemInput& input);

}  // namespace drover::scheduler
