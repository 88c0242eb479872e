// The dynamic host volumes that a task group asks for, and those that it shall have again. Pure; one owner.
//
// Folders that nodes offer by their configuration are a question of kinds of nodes (placing/feasibility.h). One that
// the cluster keeps is asked for by node: its state, its modes, who writes to it, who had it before.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "volumes/storage.h"
#include "volumes/volume_problem.h"

namespace drover::v1 {
class Job;
class Node;
class TaskGroup;
class VolumeRequest;
}  // namespace drover::v1

namespace drover::scheduler {

class HostVolumeAsk {
 public:
  // Requires: job, group and storage outlive it. `storage`: null where there is none.
  HostVolumeAsk(const v1::Job& job, const v1::TaskGroup& group, Storage* storage);

  // The group asks for none, or the cluster keeps none.
  bool empty() const { return requests_.empty(); }
  // The following questions are about the allocation of that name. True when nodes may answer otherwise than before.
  bool ask_for(std::string_view alloc_name);
  // Why the node cannot run it.
  std::optional<VolumeProblem> check(const v1::Node& node);
  // Volumes for which some node was refused.
  const std::set<std::string>& lacking() const { return lacking_; }

 private:
  std::set<std::string> find_owed() const;
  std::optional<VolumeProblem> check(const v1::VolumeRequest& request, const v1::Node& node) const;

  const v1::Job& job_;
  const v1::TaskGroup& group_;
  Storage* const storage_;
  std::vector<const v1::VolumeRequest*> requests_;  // in the order of their names
  std::vector<v1::HostVolumeClaim> claims_;         // of the group
  std::string alloc_name_;
  std::set<std::string> owed_;  // volumes that allocations of the group had, and none has now
  std::set<std::string> lacking_;
};

}  // namespace drover::scheduler
