// Whether an allocation can take another description of its group as it is, or must be replaced. Pure.
#pragma once

#include <set>
#include <string>

namespace drover::v1 {
class Job;
class TaskGroup;
}  // namespace drover::v1

namespace drover::scheduler {

// True when going from one description of the group to the other needs a new allocation.
bool needs_replacement(const v1::Job& from, const v1::TaskGroup& from_group, const v1::Job& to,
                       const v1::TaskGroup& to_group);
// The tasks that are the reason, by name; also those that are new or gone.
std::set<std::string> replacing_tasks(const v1::Job& from, const v1::TaskGroup& from_group, const v1::Job& to,
                                      const v1::TaskGroup& to_group);

}  // namespace drover::scheduler
