// The differences between two versions of a job, as the plan endpoint and people see them. Pure.
#pragma once

namespace drover::v1 {
class Job;
class JobDiff;
class TrialResponse;
}  // namespace drover::v1

namespace drover::jobs {

// Shows changes, every group and task, and the unchanged fields of objects that differ; a job, group, task or object
// that is new or gone is shown whole. Null stands for "no such job". Requires: both are canonical. The same two jobs
// give the same diff, in whatever order their parts are declared.
v1::JobDiff diff_jobs(const v1::Job* old_job, const v1::Job* new_job);

// Writes into the diff what the scheduler would do: counts at groups, and at what differs "forces create", "forces
// destroy", "forces in-place update" or "forces create/destroy update".
void annotate(v1::JobDiff& diff, const v1::TrialResponse& trial);

}  // namespace drover::jobs
