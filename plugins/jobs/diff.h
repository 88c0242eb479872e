// What differs between two versions of a job, as the plan endpoint and people see it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace drover::v1 {
class Job;
class JobDiff;
class PlanAnnotations;
}  // namespace drover::v1

namespace drover::jobs {

// Only what differs; a job, group, task or object that is new or gone is shown whole. Null stands for "no such job".
// Requires: both are canonical. Lists are sorted by name, so the same two jobs give the same diff.
v1::JobDiff diff_jobs(const v1::Job* old_job, const v1::Job* new_job);

// What registering would do to the groups' allocations, of which `running` live now, and the annotations that follow
// from it: "forces create", "forces destroy", "forces in-place update", "forces create/destroy update".
v1::PlanAnnotations annotate(v1::JobDiff& diff, const v1::Job& new_job, const std::map<std::string, uint64_t>& running);

}  // namespace drover::jobs
