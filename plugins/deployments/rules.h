// Rules about deployments that its tables, handlers and watcher share. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/model/deployment.h"
#include "drover/tables.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/job.pb.h"

namespace drover::deployments {

inline constexpr std::string_view kRunning = "Deployment is running";
inline constexpr std::string_view kPaused = "Deployment is paused";
inline constexpr std::string_view kFailedByUser = "Deployment marked as failed";
inline constexpr std::string_view kFailedAllocations = "Failed due to unhealthy allocations";
inline constexpr std::string_view kFailedDeadline = "Failed due to progress deadline";

// "running", as messages name it.
std::string_view status_word(v1::DeploymentStatus status);
// A group has canaries that nobody has promoted.
bool requires_promotion(const v1::Deployment& deployment);

// The groups that do not have as many healthy canaries as they want, each with a sentence. Empty: all may be promoted.
// `groups`: those that are to be promoted; empty: all of them.
std::vector<std::string> not_promotable(const v1::Deployment& deployment, const std::vector<v1::Allocation>& allocs,
                                        const std::vector<std::string>& groups);

// What becomes of a job whose deployment fails.
struct Revert {
  std::string description;    // of the deployment, with what happens to the job
  std::optional<v1::Job> to;  // the version that it goes back to; nothing: it stays
};
// `versions`: of the job, the newest first. It goes back to the newest stable one, if that is another specification
// than the deployment's: a version that failed once is not tried again and again.
Revert revert_for(std::string_view why, const v1::Deployment& deployment, const std::vector<v1::Job>& versions);

// The allocations of a deployment, whose job's allocations are the range of an index.
std::vector<v1::Allocation> allocs_of(const v1::Deployment& deployment, TableId allocs, const ReadView& view);

}  // namespace drover::deployments
