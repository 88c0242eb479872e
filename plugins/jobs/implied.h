// The constraints that follow from what a job uses: a task with a Vault token needs a node that reaches Vault. Pure.
#pragma once

namespace drover::v1 {
class Job;
}

namespace drover::jobs {

// Adds to groups and tasks what is not there yet. Requires: the job is canonical. Idempotent.
void add_implied_constraints(v1::Job& job);

}  // namespace drover::jobs
