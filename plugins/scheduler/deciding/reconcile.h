// Finds the changes that make a job's allocations what the job asks for: service and batch. Pure.
//
//   allocations ──split by their nodes──▶ stay, move, lost, out of reach, back
//        │                                     │
//        └──────── deployment ────────▶ stops, placements, updates, and how the deployment goes on
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
#include "drover/v1/deployment.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/trial.pb.h"

namespace drover::scheduler {

struct ReconcileInput {
  const v1::Job* job = nullptr;                // null: the job is gone
  bool is_batch = false;                       // its allocations end: one that completed is done
  std::span<const v1::Allocation> allocs;      // all of the job's name, also of earlier jobs with it
  bool deploys = true;                         // false: nobody keeps deployments, and updates happen at once
  const v1::Deployment* deployment = nullptr;  // the newest of the job's name; null: there is none
  // The status of a node; unspecified when the node is gone.
  std::function<v1::NodeStatus(const std::string& node_id)> node_status;
  // An earlier version of this job; null when it is no longer kept.
  std::function<const v1::Job*(uint64_t version)> version;
  // True when the allocation's node still meets the group's constraints.
  std::function<bool(const v1::Allocation& alloc, const v1::TaskGroup& group)> may_stay;
  int64_t now = 0;  // nanoseconds since 1970
  std::string eval_id;
  int32_t eval_priority = 0;
};

struct Placement {
  std::string name;
  std::string previous = {};  // the allocation it replaces; empty when it is additional
  v1::RescheduleTracker tracker = {};
  std::set<std::string> penalised = {};  // nodes where it failed before
  // With this description the previous one is stopped, but only when this one has found a place; empty: it is stopped
  // in any case, by GroupPlan::stops.
  std::string stop_previous = {};
  bool is_canary = false;
  // Canaries are being judged, and this is none: it takes the version that they are to replace, at least this one.
  std::optional<uint64_t> old_version = std::nullopt;
};

struct Stop {
  std::string alloc_id;
  std::string description;
  v1::ClientStatus client_status = v1::CLIENT_STATUS_UNSPECIFIED;  // lost: its node will not say
};

// An allocation that is looked at again later.
struct Later {
  static constexpr int64_t kNever = INT64_MAX;

  std::string alloc_id;
  int64_t due = 0;
};

struct GroupPlan {
  std::vector<Stop> stops;
  std::vector<Placement> placements;
  std::vector<std::string> in_place;     // allocations that take the new version as they are
  std::vector<Placement> destructive;    // placed before the others
  std::vector<Later> later;              // failed, to be replaced when due
  std::vector<Later> lost_later;         // lost and stopped; its node may run it until then, and nothing is placed
  std::vector<Later> unknown;            // out of reach from now on, and lost when due, if ever
  std::vector<std::string> reconnected;  // within reach again, and kept
  v1::DesiredUpdates desired;            // the same as numbers, for people; what is to be placed may yet find no room
};

struct Reconciled {
  std::map<std::string, GroupPlan> groups;   // also of groups that the job no longer has
  std::optional<v1::Deployment> deployment;  // a new one, without identifier
  // For the deployment of the input; unspecified: it stays as it is.
  v1::DeploymentStatus deployment_status = v1::DEPLOYMENT_STATUS_UNSPECIFIED;
  std::string deployment_description;
};

Reconciled reconcile(const ReconcileInput& input);

}  // namespace drover::scheduler
