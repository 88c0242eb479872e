// The volumes that a task group asks for: can they be had at all, and on which nodes? Pure; one owner.
//
// Most answers are the same for every node: whether the volume is there, whether one more claim can be had. They are
// found once an allocation. A node is asked for its plugin, its topology and a place for one more volume.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "drover/scheduler.h"
#include "volumes/storage.h"

namespace drover::v1 {
class Job;
class Node;
class TaskGroup;
class VolumeRequest;
}  // namespace drover::v1

namespace drover::scheduler {

struct VolumeProblem {
  enum class Kind {
    missing,        // no such volume
    no_plugin,      // the node does not run it
    unhealthy,      // it does not work there
    full,           // as many volumes as the node takes
    topology,       // the volume cannot be reached from there
    unschedulable,  // of the volume: its plugin works nowhere, or lacks a controller
    capability,     // it was never meant to be used so
    other_mode,     // it is in use in another mode
    read_only,      // the mode lets nobody write
    no_reader,      // as many read it as may
    no_writer,      // as many write it as may
    collected,      // the same, and whoever does is forgotten
  };
  Kind kind;
  std::string volume;
  bool reads = false;       // it was asked for read-only
  std::string plugin = {};  // of the volume
  std::string holder = {};  // the allocation that stands in the way
  std::string holder_job = {};
  size_t limit = 0;  // of volumes on the node
};

// A problem of one node, rather than of the volume.
bool is_of_node(VolumeProblem::Kind kind);
// As metrics count it.
std::string text_of(const VolumeProblem& problem, const v1::Node& node);
// The same without the node's name, where it has it.
std::string text_without_node(const VolumeProblem& problem);
// As they count it of nodes beside those that they name; empty: it names none.
std::string text_of_more(const VolumeProblem& problem);
// For people who want another result.
std::string remedy_for(const VolumeProblem& problem);

class VolumeAsk {
 public:
  // Requires: job, group and storage outlive it. `storage`: null where there is none.
  VolumeAsk(const v1::Job& job, const v1::TaskGroup& group, Storage* storage);

  // The group has no volumes of the type "csi".
  bool empty() const { return requests_.empty(); }
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
  std::optional<std::string> alloc_name_;  // of whom the questions are about
  std::vector<Asked> asked_;
  std::set<std::string> full_;  // plugins that take no more volumes on some node
};

}  // namespace drover::scheduler
