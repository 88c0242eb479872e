// The tables about counts: policies, which follow the jobs, and events. Deterministic. [apply]
#pragma once

#include <cstdint>
#include <string>

#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::v1 {
class Job;
class JobScalingEvents;
class ScalingEvent;
class ScalingPolicy;
}  // namespace drover::v1

namespace drover::jobs {

inline constexpr uint32_t kPoliciesByJob = 1;  // (namespace, job, policy)
inline constexpr uint32_t kPoliciesById = 2;   // policy

struct ScalingTables {
  Table<v1::ScalingPolicy> policies;   // by (namespace, policy)
  Table<v1::JobScalingEvents> events;  // by job_key

  Status declare(Declarations& declarations);
  // Makes the rows of the job's policies what the job says.
  Status follow(const v1::Job& job, ApplyContext& context) const;
  Status write_down(const v1::Job& job, const std::string& group, v1::ScalingEvent event, ApplyContext& context) const;
  void forget(std::string_view name_space, std::string_view job_id, ApplyContext& context) const;
};

}  // namespace drover::jobs
