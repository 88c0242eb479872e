// The changes of a plan, as schedulers write them down: for all types of jobs alike. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "drover/scheduler.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job.pb.h"

namespace drover::scheduler {

// Allocations by identifier, which they own.
using AllocIndex = std::unordered_map<std::string_view, const v1::Allocation*>;

class Changes {
 public:
  // Requires: all outlive it.
  Changes(Scheduler::Plan& plan, const Scheduler::Input& input, Board& board)
      : plan_(plan), input_(input), board_(board) {}

  // A further change of the allocation.
  v1::AllocationDelta& change(const v1::Allocation& alloc);
  // Stops it, and lets it leave the board.
  void stop(const v1::Allocation& alloc, const std::string& why,
            v1::ClientStatus client_status = v1::CLIENT_STATUS_UNSPECIFIED);
  // Its node is out of reach, or within reach again.
  void lose_sight(const v1::Allocation& alloc);
  void reconnect(const v1::Allocation& alloc);
  // Evicts allocations of other jobs for `by`, with an evaluation for each of their jobs.
  void evict(const std::vector<const v1::Allocation*>& evicted, const v1::Allocation& by);
  // A further evaluation of the same job at that time, in nanoseconds since 1970; valid until the next.
  v1::Evaluation& evaluate_at(int64_t when, const char* trigger, const char* why);

 private:
  Scheduler::Plan& plan_;
  const Scheduler::Input& input_;
  Board& board_;
};

// Fills in what a placed allocation says of itself beside its node, its resources and its history.
void describe_placed(const v1::Job& job, const v1::TaskGroup& group, const std::string& name,
                     const Scheduler::Input& input, v1::Allocation& alloc);

// Adds the number to what the group's placements preempt.
void count_evicted(size_t number, v1::DesiredUpdates& desired);

// Counts a placement that failed: the first one's metric stays, and tells how many followed.
void add_failure(const v1::TaskGroup& group, const v1::AllocMetric& metric,
                 std::map<std::string, v1::AllocMetric>& failed);

}  // namespace drover::scheduler
