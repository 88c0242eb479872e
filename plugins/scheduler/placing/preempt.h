// Which allocations of other jobs must leave a node so that a group of a more important job finds room there. Pure.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster.h"
#include "drover/v1/job.pb.h"

namespace drover::scheduler {

// How important an allocation of another job is to preemption.
struct Importance {
  int32_t priority = 0;
  int32_t max_parallel = 0;  // of the migrate block
};
// Nothing when the job is not known any more: the allocation stays then.
using ImportanceOf = std::function<std::optional<Importance>(const Holding& holding)>;

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

// An allocation that may leave, as far as amounts decide about it.
struct Weight {
  Amount amount;
  int32_t priority = 0;
  int32_t max_parallel = 0, evicted = 0;  // as Candidate's
};
// The choice of preempt_for_amount(): the places in `weights` of those that leave. `over`: by how much the node is too
// small for the ask; 0 and below: it is not. Nothing when all of them are not enough.
std::optional<std::vector<size_t>> leave_for_amount(const Amount& over, const Amount& ask,
                                                    std::span<const Weight> weights);

// Bounds of what leave_for_amount() may choose, whatever was evicted before.
struct Offer {
  Amount all, least, most;  // together; the smallest and the largest in each dimension
  int32_t lowest = 0;       // priority

  explicit Offer(std::span<const Weight> weights);
  bool is_enough(const Amount& over) const;
  // So much at least leaves. Requires: it is enough.
  Amount least_to_leave(const Amount& over) const;
};

using GroupName = std::tuple<std::string, std::string, std::string>;  // namespace, job, group

// The other jobs, as one evaluation of a job sees them: asks once about each group of each. One owner.
class Others {
 public:
  // Requires: the job and what `importance` reads outlive it.
  Others(const v1::Job& job, ImportanceOf importance) : job_(&job), importance_(std::move(importance)) {}

  // The group of a job that an allocation is of.
  struct Group {
    std::shared_ptr<const Holding> example;
    std::optional<Importance> importance;  // nothing when its allocations stay
    std::vector<Slot> slots = {};          // kept for the caller: where it is known to be
  };
  // Nothing when the allocation stays: it is the job's own, or nobody knows how important it is.
  std::optional<uint32_t> group_of(const std::shared_ptr<const Holding>& holding);
  Group& at(uint32_t number) { return groups_[number]; }
  // The numbers of all versions of that group.
  std::vector<uint32_t> find(const GroupName& name) const;

 private:
  const v1::Job* job_;
  ImportanceOf importance_;
  std::vector<Group> groups_;
  std::unordered_multimap<size_t, uint32_t> numbers_;  // by a hash of what its allocations have in common
};

// Near 1 for few and unimportant allocations, near 0 for many and important ones.
double preemption_score(const std::vector<Candidate>& leaving);
// The same, from the sum of the priorities and the highest.
double preemption_score(double sum, double most);

}  // namespace drover::scheduler
