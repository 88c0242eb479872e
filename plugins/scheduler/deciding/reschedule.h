// When a failed allocation is tried again elsewhere. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"

namespace drover::scheduler {

// True when the policy ever tries again.
bool reschedules(const v1::ReschedulePolicy& policy);

// When the allocation ended: its last task's end, or when its node last reported.
int64_t end_time(const v1::Allocation& alloc);

// When the next try is due, in nanoseconds since 1970; nothing when the attempts are used up or the policy is off.
// Requires: the allocation failed.
std::optional<int64_t> next_try(const v1::Allocation& alloc, const v1::ReschedulePolicy& policy);
int64_t next_delay(const v1::Allocation& alloc, const v1::ReschedulePolicy& policy);

// The tracker of the allocation that replaces `failed` now.
v1::RescheduleTracker next_tracker(const v1::Allocation& failed, const v1::ReschedulePolicy& policy, int64_t now);

}  // namespace drover::scheduler
