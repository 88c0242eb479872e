// Jobs that may be dispatched, and the child that comes of it. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "drover/result.h"

namespace drover::v1 {
class DispatchJobRequest;
class Job;
}  // namespace drover::v1

namespace drover::jobs {

inline constexpr size_t kMaxPayload = 16 * 1024;

// Says whether the job takes such a dispatch. Errors: invalid_argument; failed_precondition when it is stopped.
Status check_dispatch(const v1::Job& parent, const v1::DispatchJobRequest& request, int32_t highest_priority);

// The child: the parent with the payload and the metadata of the request. `suffix` ends its ID.
v1::Job dispatched_child(const v1::Job& parent, const v1::DispatchJobRequest& request, int64_t time_ns,
                         std::string_view suffix);

}  // namespace drover::jobs
