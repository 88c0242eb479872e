// The tables that plugins read of each other: names, numbers of their indexes, and keys. Owners declare them so; they
// only grow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/keys.h"
#include "drover/tables.h"

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

inline std::string job_key(std::string_view name_space, std::string_view job_id) {
  return KeyBuilder().text(name_space).text(job_id).take();
}

inline std::string job_version_key(std::string_view name_space, std::string_view job_id, uint64_t version) {
  return KeyBuilder().text(name_space).text(job_id).descending().number(version).take();
}

// What begins with the job in its key: its versions, in kEvalsByJob and kAllocsByJob its evaluations and allocations.
inline KeyRange of_job(std::string_view name_space, std::string_view job_id) {
  return KeyRange::prefix(job_key(name_space, job_id));
}

}  // namespace drover
