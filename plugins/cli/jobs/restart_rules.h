// The rules of `job restart`: which allocations, how many at a time, and when one runs again. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
class Allocation;
class AllocationListStub;
class AllocationStubsResponse;
class Job;
}  // namespace drover::v1

namespace drover::cli {

// The parts of the job that are restarted; nothing in a list: all.
struct RestartParts {
  std::vector<std::string> groups;
  std::vector<std::string> tasks;
  bool all_tasks = false;  // also those that have ended
};

// Errors: invalid_argument for a group or a task that the job has not.
Status check_parts(const v1::Job& job, const RestartParts& parts);

// Those that run and have one of the parts, in the order of the list.
std::vector<v1::AllocationListStub> allocs_to_restart(const v1::Job& job, const v1::AllocationStubsResponse& allocs,
                                                      const RestartParts& parts);

// The tasks of an allocation to wait for.
std::vector<std::string> tasks_to_restart(const v1::Allocation& alloc, const RestartParts& parts);

// "3", or "20%" of `count`, rounded up. Errors: invalid_argument for what is neither, or nothing.
Result<size_t> batch_size(const std::string& text, size_t count);

enum class RestartProgress { waiting, running, ended };
// `now`: the allocation some time after `before`, from which these tasks were restarted.
RestartProgress progress_of(const v1::Allocation& before, const v1::Allocation& now,
                            const std::vector<std::string>& tasks);

}  // namespace drover::cli
