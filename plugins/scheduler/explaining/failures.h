// All that keeps a task group off a node, not only the first reason. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "placing/cluster.h"
#include "placing/distinct.h"

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
    device,  // the node has none that would do
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
  std::string detail;  // what differs between nodes with the same failure: who holds a port
  int64_t amount = 0;  // how much is missing: MHz, MB, cores
};

// In the order in which they are checked; empty: the group fits. `distinct`: knows where the job's allocations are.
std::vector<Failure> failures_of(const ClusterNode& node, const v1::Job& job, const v1::TaskGroup& group,
                                 const Distinct& distinct);

}  // namespace drover::scheduler
