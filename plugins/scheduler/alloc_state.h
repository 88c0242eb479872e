// What the two statuses of an allocation say together. Pure.
#pragma once

#include "drover/v1/allocation.pb.h"

namespace drover::scheduler {

// The servers no longer want it to run.
inline bool server_terminal(const v1::Allocation& alloc) {
  return alloc.desired_status() == v1::DESIRED_STATUS_STOP || alloc.desired_status() == v1::DESIRED_STATUS_EVICT;
}

// It no longer runs, and never will again.
inline bool client_terminal(v1::ClientStatus status) {
  return status == v1::CLIENT_STATUS_COMPLETE || status == v1::CLIENT_STATUS_FAILED || status == v1::CLIENT_STATUS_LOST;
}
inline bool client_terminal(const v1::Allocation& alloc) { return client_terminal(alloc.client_status()); }

// Terminal allocations take nothing of their node.
inline bool terminal(const v1::Allocation& alloc) { return server_terminal(alloc) || client_terminal(alloc); }

inline constexpr const char* kNotNeeded = "alloc not needed due to job update";
inline constexpr const char* kMigrating = "alloc is being migrated";
inline constexpr const char* kUpdating = "alloc is being updated due to job update";
inline constexpr const char* kLost = "alloc is lost since its node is down";
inline constexpr const char* kInPlace = "alloc updating in-place";
inline constexpr const char* kRescheduled = "alloc was rescheduled because it failed";

}  // namespace drover::scheduler
