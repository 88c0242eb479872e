// The child that a launch of a periodic job starts. Pure, but for the evaluation's identifier, which the caller gives.
#pragma once

#include <cstdint>
#include <string>

namespace drover::v1 {
class Job;
class PeriodicLaunched;
}  // namespace drover::v1

namespace drover::periodic {

// The child of the launch: the job without its times.
v1::Job child_of(const v1::Job& job, int64_t launch);

// `now`: when the command is proposed.
v1::PeriodicLaunched launch_of(const v1::Job& job, int64_t launch, std::string eval_id, int64_t now);

}  // namespace drover::periodic
