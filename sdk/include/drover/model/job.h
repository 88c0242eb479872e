// Looks up the parts of a job by name, says what kind of job it is, and what two versions of it have in common. Pure.
// [any]
#pragma once

#include <string>
#include <string_view>

namespace drover::v1 {
class Job;
class Task;
class TaskGroup;
}  // namespace drover::v1

namespace drover {

// Null when the job has no such group. Lives as long as the job.
const v1::TaskGroup* find_group(const v1::Job& job, std::string_view name);
// Null when the group has no such task. Lives as long as the group.
const v1::Task* find_task(const v1::TaskGroup& group, std::string_view name);

// The part of a job whose change makes a new version: everything but what the servers keep about it. To be compared.
std::string specification(v1::Job job);

// Runs on every node that it fits: of type system or sysbatch.
bool runs_everywhere(const v1::Job& job);

// Runs nothing itself: it starts a child whenever it is told to, with the child's own input. A child keeps the block.
bool is_parameterized(const v1::Job& job);
// Runs nothing itself: it starts a child whenever its expressions are due.
bool is_periodic(const v1::Job& job);
// Either of both.
bool starts_children(const v1::Job& job);

// A host name as DNS takes it: labels of letters, digits and inner dashes, with dots between.
bool is_dns_name(std::string_view name);

}  // namespace drover
