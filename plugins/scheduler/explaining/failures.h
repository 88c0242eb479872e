// All that keeps a task group off a node, not only the first reason. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "placing/cluster.h"
#include "placing/distinct.h"
#include "volumes/volume_ask.h"

namespace drover::v1 {
class Job;
class TaskGroup;
}  // namespace drover::v1

namespace drover::scheduler {

struct Failure {
  enum class Kind {
    node_pool,
    datacenter,
    node,  // it is down, drains, or takes no new work
    constraint,
    driver,
    volume,   // of the type "host"
    storage,  // a volume of the type "csi"
    device,   // the node has none that would do
    network,
    distinct,
    port,
    device_in_use,
    cores,
    cpu,
    memory,
    disk,
  };
  Kind kind;
  std::string text;    // as metrics name it where they count it: "memory", "${attr.cpu.arch} = amd64"
  std::string detail;  // what differs between nodes with the same failure: who holds a port; of storage the remedy
  int64_t amount = 0;  // how much is missing: MHz, MB, cores
};

// Finds the failures of a group on one node after the other. What the nodes of a kind share is asked once. One owner.
class FailureFinder {
 public:
  // `distinct`: knows where the job's allocations are. `storage`: null where there is none. `alloc_name`: of the
  // allocation that is asked about. Requires: all outlive it.
  FailureFinder(const v1::Job& job, const v1::TaskGroup& group, const Distinct& distinct, Storage* storage,
                const std::string& alloc_name);

  // In the order in which they are checked; empty: the group fits. `accepts`: the node takes new work. `kind`: of the
  // node, in its cluster; nothing: it is in none.
  std::vector<Failure> failures_of(const ClusterNode& node, bool accepts, std::optional<uint32_t> kind);
  Amount ask_of(const NodeRoom& room) const { return ask_ ? *ask_ : room.ask_of(group_); }

 private:
  // The failures that all nodes of a kind have.
  struct Shared {
    bool is_known = false;
    std::vector<Failure> reach{}, constraints_and_drivers{}, network{};
  };
  void learn(const v1::Node& example, Shared& shared) const;

  const v1::Job& job_;
  const v1::TaskGroup& group_;
  const Distinct& distinct_;
  const std::string alloc_name_;
  VolumeAsk volumes_;
  const bool escapes_kind_;  // two nodes of a kind may differ in what the group asks for
  const bool wants_devices_;
  const std::optional<Amount> ask_;  // nothing: it depends on the node's cores
  std::vector<Shared> shared_;       // by kind
};

}  // namespace drover::scheduler
