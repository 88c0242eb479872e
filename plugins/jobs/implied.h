// What follows from what a job uses: a task with a Vault token needs a node that reaches Vault, and an identity to log in
// with. Pure.
#pragma once

#include <functional>
#include <vector>

namespace drover::v1 {
class Identity;
class Job;
class Task;
class TaskGroup;
}  // namespace drover::v1

namespace drover::jobs {

using IdentitiesFor = std::function<std::vector<v1::Identity>(const v1::TaskGroup& group, const v1::Task& task)>;

// Adds to tasks those of which they have none of the name. Requires: the job is canonical. Idempotent.
void add_implied_identities(v1::Job& job, const IdentitiesFor& identities_for);

// Adds to groups and tasks what is not there yet. Requires: the job is canonical. Idempotent.
void add_implied_constraints(v1::Job& job);

}  // namespace drover::jobs
