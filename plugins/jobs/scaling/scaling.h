// The rules of setting a group's count, its events, and the policies of a job. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
class Job;
class JobScalingEvents;
class ScaleJobRequest;
class ScalingEvent;
class ScalingPolicy;
}  // namespace drover::v1

namespace drover::jobs {

inline constexpr int kTrackedScalingEvents = 20;  // of a group

// Says whether the request is one, whatever its job is. Errors: invalid_argument.
Status check_scale_request(const v1::ScaleJobRequest& request, const std::string& name_space);

// Sets the count, where the request has one, and fills in what the event says of both. Errors: invalid_argument.
// Requires: check_scale_request() took the request.
Status scale(v1::Job& job, const v1::ScaleJobRequest& request, v1::ScalingEvent& event);

// Puts the event before those of its group; the oldest go.
void add_event(v1::JobScalingEvents& events, const std::string& group, v1::ScalingEvent event);

// The rows of the job's policies, without indexes. A stopped job's are off; a child has none of its own.
std::vector<v1::ScalingPolicy> policies_of(const v1::Job& job);

}  // namespace drover::jobs
