// Which nodes may run a task group at all, before anybody asks how full they are. Pure; one owner.
//
// Questions that depend only on a node's computed class are asked once a class, unless a constraint escapes the class.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

// True when the node is in the job's datacenters and pool, or in its pool.
bool in_reach(const v1::Job& job, const v1::Node& node);
bool in_pool(const v1::Job& job, const v1::Node& node);
// True when it may be given new work.
bool accepts_work(const v1::Node& node);

// The allocations of the job that count for distinct_hosts and distinct_property: by node, and with their group.
struct Neighbour {
  const v1::Node* node;  // null when the node is gone
  std::string group;
};

class Feasibility {
 public:
  Feasibility(const v1::Job& job, const v1::TaskGroup& group);

  // Why the node cannot run the group, as it stands in the metrics; empty when it can. Constraints, drivers, devices,
  // network.
  std::string check(const v1::Node& node);
  // The same for what depends on where the job's other allocations are.
  std::string check_distinct(const v1::Node& node, const std::vector<Neighbour>& neighbours) const;
  bool has_distinct() const { return !distinct_.empty(); }

  // For blocked evaluations: verdicts by computed class, and whether there are constraints they do not cover.
  const std::map<std::string, std::string>& classes() const { return by_class_; }
  bool escaped() const { return escaped_; }

 private:
  std::string check_constraints(const v1::Node& node) const;

  struct Distinct {
    v1::Constraint constraint;
    bool whole_job;
  };
  const v1::TaskGroup& group_;
  std::vector<v1::Constraint> constraints_;
  std::vector<Distinct> distinct_;
  bool escaped_ = false;
  std::map<std::string, std::string> by_class_;  // computed class → reason, empty when it is met
};

}  // namespace drover::scheduler
