// Fills in what a job leaves open, exactly as the job specification's tables say. Pure.
#pragma once

#include "priorities.h"

namespace drover::v1 {
class Job;
}

namespace drover::jobs {

// Afterwards every option with a default holds a value, and job-level update, reschedule and migrate have become the
// groups' own. Idempotent.
void canonicalize(v1::Job& job, const Priorities& priorities = {});

}  // namespace drover::jobs
