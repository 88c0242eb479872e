// An allocation as the API shows it. Pure.
#pragma once

#include <optional>

#include "drover/api/allocations.pb.h"
#include "drover/v1/allocation.pb.h"

namespace drover::scheduler {

// With the job that it names, if that is known, and its resources in the older forms that clients still read.
v1::AllocationWithJob details_of(v1::Allocation alloc, std::optional<v1::Job> job);

}  // namespace drover::scheduler
