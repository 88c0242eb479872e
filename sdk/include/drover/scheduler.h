// Decides, for the jobs of one type, which allocations start, change and stop, and on which nodes.
//
//   evaluation ──▶ Scheduler::decide ──Decision──▶ plan check ──▶ log
//                     │      ▲
//                     ▼      │
//                 Board: nodes, what is taken of them, room for a group
//
// A plugin registers one under the name of the job type: declare.extend<Scheduler>("service", scheduler_). The workers
// of the leading server and trials (`job plan`) call it. A plan is checked against the newest state before it is done,
// whoever made it, so a scheduler cannot overcommit a node. A source that holds plans or decisions includes the
// messages they are made of: drover/v1/allocation.pb.h, commands.pb.h, deployment.pb.h, evaluation.pb.h and trial.pb.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace drover::v1 {
class AllocationDelta;
class AllocMetric;
class Allocation;
class Deployment;
class DeploymentStatusUpdate;
class DesiredUpdates;
class Evaluation;
class Job;
class Node;
class SchedulerConfiguration;
class TaskGroup;
}  // namespace drover::v1

namespace drover {

// Where room may come from for what found none. A decision that leaves something out has one or several; each becomes a
// blocked evaluation of the job.
struct RoomWait {
  std::string node_id;                            // only room on this node helps; empty: see the following
  std::map<std::string, bool> class_eligibility;  // by computed class: whether a node of it could take the group
  bool escaped = false;                           // the constraints look at single nodes: any node may help
  // Volumes of the job's namespace and storage plugins: a change of one may help, too.
  std::set<std::string> volumes = {}, plugins = {};
  std::optional<bool> only_storage = {};  // true: nothing else helps
};

// Finds nodes for the allocations of one task group. [the caller's thread]
class GroupPlacer {
 public:
  virtual ~GroupPlacer() = default;

  struct Wish {
    std::set<std::string> penalised = {};  // nodes that count as worse
    std::string preferred_node = {};       // this one if it can take it, as long as it is ready; empty: any
    std::string only_node = {};            // this one or none; empty: any
  };
  // Takes room for the allocation, whose id and name are set, on the best node, and sets its node, resources, metrics
  // and what it preempts. False when no node can take it; failure() says why.
  virtual bool place(v1::Allocation& alloc, const Wish& wish) = 0;
  // The allocations of other jobs that the last place() evicts; the board has let them leave already, and they must be
  // evicted in the same plan. Valid until the next place().
  virtual const std::vector<const v1::Allocation*>& evicted() const = 0;
  // The metric of the last place() that was false. Valid until the next.
  virtual const v1::AllocMetric& failure() const = 0;
  // Adds what is known of the classes of nodes, and which storage the last place() that was false lacked.
  virtual void describe(RoomWait& wait) const = 0;
};

// The nodes, and what is taken of them, as one evaluation sees and changes them: at first as the snapshot has them,
// with every allocation that takes room. [the caller's thread]
class Board {
 public:
  virtual ~Board() = default;

  // Null when the node is gone.
  virtual const v1::Node* node(const std::string& id) const = 0;
  // All nodes, in any order, whether they accept work or not.
  virtual void visit_nodes(const std::function<void(const v1::Node& node)>& visit) const = 0;
  // True when the node may be given new work: it is ready, eligible and not draining.
  virtual bool accepts_work(const v1::Node& node) const = 0;
  // True when the node is within the job's datacenters and pool.
  virtual bool reaches(const v1::Node& node, const v1::Job& job) const = 0;
  // True when the node is within the job's reach (datacenters, pool) and meets all that the group asks but room, and
  // but volumes that allocations claim: one that is there has its claims.
  // `alloc_name`: "job.group[3]"; each may have volumes of its own.
  virtual bool suits(const v1::Node& node, const v1::Job& job, const v1::TaskGroup& group,
                     const std::string& alloc_name) const = 0;
  // Frees what an allocation of the snapshot takes of its node. Does nothing for one that takes nothing.
  virtual void leave(const v1::Allocation& alloc) = 0;
  // Undoes leave().
  virtual void come_back(const v1::Allocation& alloc) = 0;
  // Requires: job and group outlive the placer, and the placer does not outlive the board. Several may be open at the
  // same time.
  virtual std::unique_ptr<GroupPlacer> open(const v1::Job& job, const v1::TaskGroup& group) = 0;
};

class Scheduler {
 public:
  static constexpr std::string_view kExtensionPoint = "scheduler";
  virtual ~Scheduler() = default;

  struct Input {
    const v1::Evaluation& eval;
    const v1::Job* job;                         // null: the job is gone
    const std::vector<v1::Allocation>& allocs;  // all of the job's name, also ended ones and those of earlier jobs
    std::function<const v1::Job*(uint64_t version)> version;  // of the job; null when it is no longer kept
    // Those of the job's name, the newest first; null: nobody keeps deployments here, and none may be made.
    const std::vector<v1::Deployment>* deployments;
    const v1::SchedulerConfiguration& config;
    int64_t now;                          // nanoseconds since 1970
    std::function<std::string()> new_id;  // for new allocations and evaluations
  };

  // The changes to make. The check leaves out those that nodes cannot take, and the evaluation is decided again.
  struct Plan {
    bool all_at_once = false;  // all or nothing
    std::vector<v1::Allocation> placed;
    std::map<std::string, std::vector<v1::AllocationDelta>> changed;  // by the node of the allocations
    std::vector<v1::Evaluation> evaluations;                          // that follow this one
    std::vector<v1::Deployment> deployments;                          // new ones
    std::vector<v1::DeploymentStatusUpdate> deployment_updates;

    bool empty() const {
      return placed.empty() && changed.empty() && evaluations.empty() && deployments.empty() &&
             deployment_updates.empty();
    }
  };

  struct Decision {
    Plan plan;
    std::map<std::string, int32_t> queued;              // by group: allocations that found no room; for people
    std::map<std::string, v1::AllocMetric> failed;      // by group: why
    std::vector<RoomWait> waits;                        // none: the evaluation is done
    std::map<std::string, v1::DesiredUpdates> desired;  // by group: the plan as numbers; for people
    std::string deployment_id;                          // that the plan goes on with; empty: there is none
  };

  // Pure: the same input and board give the same decision, up to new identifiers. Several threads call it at the same
  // time, each with a board of its own. [any]
  virtual Decision decide(const Input& input, Board& board) const = 0;

  // How often an evaluation is decided before it fails, without any part of a plan being done in between. Constant.
  virtual int attempts() const { return 5; }
  // True when an evaluation that failed so leaves a blocked one, which is tried again later. Constant.
  virtual bool waits_after_conflicts() const { return true; }
};

}  // namespace drover
