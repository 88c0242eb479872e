// A plan as people read it. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace drover::v1 {
class JobDiff;
class PlanJobResponse;
}  // namespace drover::v1

namespace drover::cli {

// The difference, a line each: "+" came, "-" went, "+/-" changed. Jobs, groups and tasks that are new or gone are named
// only, unless `is_verbose`.
std::string diff_text(const v1::JobDiff& diff, bool is_verbose);

// The text after "Scheduler dry-run:". `type`: the job's. `now`: nanoseconds since 1970.
std::string dry_run_text(const v1::PlanJobResponse& plan, const std::string& type, int64_t now);

// The text after "Preemptions:": allocations of other jobs that make room; where they are many, their number in each
// job. Empty when there are none.
std::string preemptions_text(const v1::PlanJobResponse& plan);

// The plan creates or destroys allocations.
bool changes_allocations(const v1::PlanJobResponse& plan);

}  // namespace drover::cli
