// Decides what is to be done about a deployment that is under way. Pure: no clock, no thread, no I/O.
//
//   its rows and the time ──deployment_step──▶ fail it (and take its job back) │ promote it │ replace what is
//   unhealthy,
//                                              have its job looked at │ nothing, until a time or a change
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rules.h"

namespace drover::deployments {

// All that a decision looks at.
struct Situation {
  v1::Deployment deployment;
  std::vector<v1::Allocation> allocs;  // of the deployment
  std::vector<v1::Job> versions;       // of its job, the newest first
  // The log index up to which evaluations of the job have seen its allocations, or will.
  uint64_t evaluated_index = 0;
};

struct Step {
  std::optional<Revert> fail;        // the deployment has failed; nothing else is done then
  bool promote = false;              // all its groups
  bool evaluate = false;             // the scheduler shall look at the job
  std::vector<std::string> replace;  // unhealthy allocations whose places shall be filled again
  int64_t next = 0;                  // a decision by time comes then, nanoseconds since 1970; 0: none does
};
Step deployment_step(const Situation& now, int64_t now_ns);

}  // namespace drover::deployments
