// Finds the changes that make a job's allocations what the job asks for: service and batch. Pure.
//
// Where new allocations go is not decided here (place.h), and neither is whether they find room.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/trial.pb.h"

namespace drover::scheduler {

struct ReconcileInput {
  const v1::Job* job = nullptr;            // null: the job is gone
  bool is_batch = false;                   // its allocations end: one that completed is done
  std::span<const v1::Allocation> allocs;  // all of the job's name, also of earlier jobs with it
  // The status of a node; unspecified when the node is gone.
  std::function<v1::NodeStatus(const std::string& node_id)> node_status;
  // An earlier version of this job; null when it is no longer kept.
  std::function<const v1::Job*(uint64_t version)> version;
  // True when the allocation's node still meets the group's constraints.
  std::function<bool(const v1::Allocation& alloc, const v1::TaskGroup& group)> may_stay;
  int64_t now = 0;  // nanoseconds since 1970
  std::string eval_id;
};

struct Placement {
  std::string name;
  std::string previous = {};  // the allocation it replaces; empty when it is additional
  v1::RescheduleTracker tracker = {};
  std::set<std::string> penalised = {};  // nodes where it failed before
  // With this description the previous one is stopped, but only when this one has found a place; empty: it is stopped
  // in any case, by GroupPlan::stops.
  std::string stop_previous = {};
};

struct Stop {
  std::string alloc_id;
  std::string description;
  v1::ClientStatus client_status = v1::CLIENT_STATUS_UNSPECIFIED;  // lost: its node will not say
};

// A failed allocation that is looked at again later.
struct Later {
  std::string alloc_id;
  int64_t due = 0;
};

struct GroupPlan {
  std::vector<Stop> stops;
  std::vector<Placement> placements;
  std::vector<std::string> in_place;   // allocations that take the new version as they are
  std::vector<Placement> destructive;  // placed before the others
  std::vector<Later> later;
  // When a rolling update may go on by time alone: a started allocation will have been healthy for long enough then.
  std::optional<int64_t> recheck_at;
  v1::DesiredUpdates desired;  // the same as numbers, for people; what is to be placed may yet find no room
};

struct Reconciled {
  std::map<std::string, GroupPlan> groups;  // also of groups that the job no longer has
};

Reconciled reconcile(const ReconcileInput& input);

// True when going from one description of the group to the other needs a new allocation.
bool needs_replacement(const v1::Job& from, const v1::TaskGroup& from_group, const v1::Job& to,
                       const v1::TaskGroup& to_group);
// The tasks that are the reason, by name; also those that are new or gone.
std::set<std::string> replacing_tasks(const v1::Job& from, const v1::TaskGroup& from_group, const v1::Job& to,
                                      const v1::TaskGroup& to_group);

// "job.group[7]" → 7; nothing when the name is not of that form.
std::optional<int64_t> name_index(std::string_view name);
std::string alloc_name(std::string_view job_id, std::string_view group, int64_t index);

}  // namespace drover::scheduler
