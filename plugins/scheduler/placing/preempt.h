// Which allocations of other jobs must leave a node so that a group of a more important job finds room there. Pure.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster.h"
#include "drover/v1/job.pb.h"

namespace drover::scheduler {

// An allocation of another job on the node.
struct Candidate {
  std::shared_ptr<const Holding> holding;
  int32_t priority = 0;
  int32_t max_parallel = 0;  // of its group's migrate block; 0: any number may leave at the same time
  int32_t evicted = 0;       // of its job and group, in this plan already
};

// Only allocations of a priority that is lower by this much leave.
constexpr int32_t kPriorityGap = 10;

// How far an allocation is from what is needed.
double preemption_distance(const Amount& needed, const Amount& held);

// The candidates that leave so that `ask` fits into what is left of the room: the lowest priorities first, and of one
// the nearest to what is needed. Nothing when that is not enough. Empty when nobody must leave.
std::optional<std::vector<Candidate>> preempt_for_amount(const NodeRoom& room, const Amount& ask, int32_t priority,
                                                         const std::vector<Candidate>& candidates);
// The same for the static ports of a group: who holds one of them.
std::optional<std::vector<Candidate>> preempt_for_ports(const v1::Node& node, const NodeRoom& room,
                                                        const v1::TaskGroup& group, int32_t priority,
                                                        const std::vector<Candidate>& candidates);
// The same for one request for devices. `taken`: with what was chosen for earlier requests.
std::optional<std::vector<Candidate>> preempt_for_device(const v1::Node& node, const TakenDevices& taken,
                                                         const v1::RequestedDevice& wanted, int32_t priority,
                                                         const std::vector<Candidate>& candidates);

// All of it: ports first, then devices, then cpu, memory and disk. Cores are never freed so.
struct Preemption {
  std::vector<Candidate> leaving;
  NodeRoom room;  // without them
};
// Nothing when the group does not fit whoever leaves.
std::optional<Preemption> preempt(const v1::Node& node, const NodeRoom& room, const v1::TaskGroup& group,
                                  int32_t priority, std::vector<Candidate> candidates);

// Near 1 for few and unimportant allocations, near 0 for many and important ones.
double preemption_score(const std::vector<Candidate>& leaving);

}  // namespace drover::scheduler
