// Looks up the parts of a job by name. Pure. [any]
#pragma once

#include <string_view>

namespace drover::v1 {
class Job;
class TaskGroup;
}  // namespace drover::v1

namespace drover {

// Null when the job has no such group. Lives as long as the job.
const v1::TaskGroup* find_group(const v1::Job& job, std::string_view name);

}  // namespace drover
