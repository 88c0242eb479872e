// The tables that plugins read of each other: names, and numbers of their indexes. Owners declare them so; they only
// grow.
#pragma once

#include <cstdint>
#include <string_view>

namespace drover {

// "jobs" (owner: jobs)              primary: (namespace, job)
// "job_versions" (owner: jobs)      primary: (namespace, job, version descending)
// "nodes" (owner: nodes)            primary: node
// "evals" (owner: scheduler)        primary: evaluation
inline constexpr uint32_t kEvalsByCreation = 1;  // (create index, evaluation)
inline constexpr uint32_t kEvalsByJob = 2;       // (namespace, job, evaluation)
inline constexpr uint32_t kEvalsByStatus = 3;    // (status byte, evaluation)
// "allocs" (owner: scheduler)       primary: allocation
inline constexpr uint32_t kAllocsByCreation = 1;  // (create index, allocation)
inline constexpr uint32_t kAllocsByJob = 2;       // (namespace, job, allocation)
inline constexpr uint32_t kAllocsByNode = 3;      // (node, allocation)
inline constexpr uint32_t kAllocsByEval = 4;      // (evaluation, allocation)

}  // namespace drover
