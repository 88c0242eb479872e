// Looks up the parts of a job by name, and what two versions of it have in common. Pure. [any]
#pragma once

#include <string>
#include <string_view>

namespace drover::v1 {
class Job;
class TaskGroup;
}  // namespace drover::v1

namespace drover {

// Null when the job has no such group. Lives as long as the job.
const v1::TaskGroup* find_group(const v1::Job& job, std::string_view name);

// The part of a job whose change makes a new version: everything but what the servers keep about it. To be compared.
std::string specification(v1::Job job);

}  // namespace drover
