// The priorities of jobs, as the servers are configured.
#pragma once

#include <cstdint>

namespace drover::jobs {

struct Priorities {
  int32_t standard = 50;  // of a job that names none
  int32_t highest = 100;
};
// What no configuration goes beyond; as in Nomad.
inline constexpr int32_t kMaxPriority = 32766;

}  // namespace drover::jobs
