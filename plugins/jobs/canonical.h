// Fills in what a job leaves open, exactly as the job specification's tables say. Pure.
#pragma once

#include "priorities.h"

namespace drover::v1 {
class Job;
}

namespace drover::jobs {

// The servers' form, which is stored: every option with a default holds a value, and job-level update, reschedule and
// migrate have become the groups' own. Idempotent.
void canonicalize(v1::Job& job, const Priorities& priorities = {});

// The clients' form, which API clients compare with their own defaults (jobs/parse with Canonicalize): what only
// servers decide stays open, such as priority, datacenters and network modes. canonicalize() makes the same of a job in
// this form and of the job itself. Idempotent.
void fill_in_for_clients(v1::Job& job);

}  // namespace drover::jobs
