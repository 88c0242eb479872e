// When a periodic job is launched next, for people.
#pragma once

#include <string>

namespace drover::v1 {
class Job;
}

namespace drover::cli {

// "2023-11-14T22:13:20Z (2h5m from now)"; empty for a job that time does not launch.
std::string next_launch_text(const v1::Job& job);

}  // namespace drover::cli
