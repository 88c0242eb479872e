// Why the servers changed an allocation or a deployment, as its description says.
#pragma once

namespace drover::scheduler {

inline constexpr const char* kNotNeeded = "alloc not needed due to job update";
inline constexpr const char* kReconnected = "alloc not needed due to disconnected client reconnect";
inline constexpr const char* kMigrating = "alloc is being migrated";
inline constexpr const char* kUpdating = "alloc is being updated due to job update";
inline constexpr const char* kLost = "alloc is lost since its node is down";
inline constexpr const char* kUnknown = "alloc is unknown since its node is disconnected";
inline constexpr const char* kInPlace = "alloc updating in-place";
inline constexpr const char* kNodeTainted = "alloc not needed as node is tainted";
inline constexpr const char* kRescheduled = "alloc was rescheduled because it failed";

inline constexpr const char* kDeploymentRunning = "Deployment is running";
inline constexpr const char* kDeploymentNeedsPromotion = "Deployment is running but requires manual promotion";
inline constexpr const char* kDeploymentPromotesItself = "Deployment is running pending automatic promotion";
inline constexpr const char* kDeploymentSuccessful = "Deployment completed successfully";
inline constexpr const char* kDeploymentJobStopped = "Cancelled because job is stopped";
inline constexpr const char* kDeploymentNewerJob = "Cancelled due to newer version of job";

}  // namespace drover::scheduler
