// Which nodes may run a task group at all, before anybody asks how full they are. Pure; one owner.
//
// Questions that depend only on a node's computed class are asked once a class, unless a constraint escapes the class.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drover/model/node.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

// True when the node has the driver, and it is healthy.
bool driver_works(const std::string& driver, const v1::Node& node);
// Why the node's folders cannot be the group's volumes of the type "host", as it stands in the metrics; empty when they
// can.
std::string volume_problem(const v1::TaskGroup& group, const v1::Node& node, std::string_view alloc_name);
// True when allocations of the group look at different volumes of the type "host", each at its own.
bool has_own_host_volumes(const v1::TaskGroup& group);
// Why the node's networks cannot be the group's, as it stands in the metrics; empty when they can.
std::string network_problem(const v1::TaskGroup& group, const v1::Node& node);

// Constraints that are met or not by a whole class of nodes, as long as none escapes.
class ClassVerdicts {
 public:
  void add(const v1::Constraint& constraint);
  // The first that is not met, as text; empty: all are.
  const std::string& check(const v1::Node& node);

  bool escaped() const { return escaped_; }
  const std::map<std::string, std::string>& known() const { return known_; }  // computed class → reason

 private:
  std::string look(const v1::Node& node) const;

  std::vector<v1::Constraint> constraints_;
  bool escaped_ = false;
  std::map<std::string, std::string> known_;
  std::string last_;
};

class Feasibility {
 public:
  Feasibility(const v1::Job& job, const v1::TaskGroup& group);

  // The questions that follow are about the allocation of that name. True when an answer may be another than before.
  bool ask_for(std::string_view alloc_name);
  // Why the node cannot run the group, as it stands in the metrics; empty when it can. In order: the job's constraints,
  // drivers, the group's and its tasks' constraints, host volumes, devices, network.
  std::string check(const v1::Node& node);

  // For blocked evaluations: whether a node of the class can do, and whether there are constraints that classes do not
  // cover.
  std::map<std::string, bool> classes() const;
  bool escaped() const { return job_.escaped() || group_constraints_.escaped(); }

 private:
  const v1::TaskGroup& group_;
  const bool has_own_volumes_;
  std::string alloc_name_;  // where it matters
  ClassVerdicts job_;
  ClassVerdicts group_constraints_;
};

}  // namespace drover::scheduler
