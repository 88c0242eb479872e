// The priorities of jobs, as the servers are configured.
#pragma once

#include <cstdint>

namespace drover::jobs {

struct Priorities {
  int32_t standard = 50;  // of a job that names none
  int32_t highest = 100;
};
// The limit of every configuration; as in Nomad.
inline constexpr int32_t kMaxPriority = 32766;

}  // namespace drover::jobs
