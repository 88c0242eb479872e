// Why the servers changed an allocation, as its desired description says.
#pragma once

namespace drover::scheduler {

inline constexpr const char* kNotNeeded = "alloc not needed due to job update";
inline constexpr const char* kMigrating = "alloc is being migrated";
inline constexpr const char* kUpdating = "alloc is being updated due to job update";
inline constexpr const char* kLost = "alloc is lost since its node is down";
inline constexpr const char* kInPlace = "alloc updating in-place";
inline constexpr const char* kRescheduled = "alloc was rescheduled because it failed";

}  // namespace drover::scheduler
