// The next step of all drains together: which allocations move now, and which nodes are done. Pure.
//
//   service allocations   few at a time: their group keeps count - migrate.max_parallel healthy ones
//   batch allocations     end by themselves, until the deadline
//   system allocations    last, when nothing else is left; unless they are ignored. Likewise those of jobs with storage
//                         plugins, whatever their type
//
// At its deadline a node is done, and what is left there moves at once.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::drain {

struct DrainInput {
  std::vector<v1::Node> nodes;  // those that drain
  struct JobAllocs {
    std::optional<v1::Job> job;          // nothing: it is gone
    std::vector<v1::Allocation> allocs;  // all of its name, on whatever node
  };
  std::vector<JobAllocs> jobs;  // every job with an allocation on one of the nodes
  int64_t now = 0;              // nanoseconds since 1970
};

struct DrainStep {
  struct Move {
    std::string alloc_id;
    size_t job;   // its place in DrainInput::jobs
    bool spares;  // only while its group keeps as many healthy ones as it must
  };
  std::vector<Move> moves;
  struct Done {
    std::string node_id;
    bool deadline_reached;
  };
  std::vector<Done> done;
  std::optional<int64_t> look_again_at;  // the earliest deadline; nothing: only when something changes
};

DrainStep drain_step(const DrainInput& input);

// How many more of a group may be told to move, so that it keeps count - migrate.max_parallel healthy ones; may be
// below 0. Nothing: any number, the job is no service or does not want the group any more. `allocs`: of the job.
// `leaving`: those that move in any case.
std::optional<int64_t> may_move(const v1::Job& job, const std::string& group, const std::vector<v1::Allocation>& allocs,
                                const std::set<std::string>& leaving);

}  // namespace drover::drain
