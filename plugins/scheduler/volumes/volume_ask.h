// The volumes that a task group asks for: can they be had at all, and on which nodes? Pure; one owner.
//
// Most answers are the same for every node: whether the volume is there, whether one more claim can be had. They are
// found once an allocation. A node is asked for its plugin, its topology and a place for one more volume, and for the
// dynamic host volumes that it offers.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "drover/scheduler.h"
#include "volumes/host_ask.h"
#include "volumes/storage.h"
#include "volumes/volume_problem.h"

namespace drover::v1 {
class Job;
class Node;
class TaskGroup;
class VolumeRequest;
}  // namespace drover::v1

namespace drover::scheduler {

class VolumeAsk {
 public:
  // Requires: job, group and storage outlive it. `storage`: null where there is none.
  VolumeAsk(const v1::Job& job, const v1::TaskGroup& group, Storage* storage);

  // The group has no volumes that are asked for by node.
  bool empty() const { return requests_.empty() && hosts_.empty(); }
  // Nodes whose answer may be another than before, though they did not change.
  struct Stale {
    bool all = false;
    std::set<std::string> nodes = {};
  };
  // The following questions are about the allocation of that name.
  Stale ask_for(std::string_view alloc_name);
  // Why the node cannot run it.
  std::optional<VolumeProblem> check(const v1::Node& node);
  // It is placed there.
  void take(const std::string& alloc_id, const std::string& node_id);
  // Adds the storage that was lacking.
  void describe(RoomWait& wait) const;

 private:
  struct Asked {
    const v1::VolumeRequest* request;
    std::string id;
    const Storage::Volume* volume = nullptr;
    std::optional<VolumeProblem> problem = {};  // on every node
  };
  Asked asked(const v1::VolumeRequest& request, std::string_view alloc_name);
  std::optional<VolumeProblem> problem_of(const Asked& asked);
  std::optional<VolumeProblem> check_node(const Asked& asked, const v1::Node& node, size_t at);
  size_t added_by_others(size_t at, const std::string& node_id) const;

  const v1::Job& job_;
  const v1::TaskGroup& group_;
  Storage* const storage_;
  std::vector<const v1::VolumeRequest*> requests_;  // in the order of their names
  std::optional<std::string> alloc_name_;           // of whom the questions are about
  std::vector<Asked> asked_;
  std::set<std::string> full_;  // plugins that take no more volumes on some node
  HostVolumeAsk hosts_;
};

}  // namespace drover::scheduler
