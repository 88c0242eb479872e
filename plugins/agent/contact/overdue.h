// Which allocations a node stops by itself because it has not reached a server for too long. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "drover/uuid.h"

namespace drover::agent {

// How long an allocation may run while no server is reached.
struct ContactLimit {
  Uuid alloc;
  std::chrono::nanoseconds time{};
};
struct Overdue {
  std::vector<Uuid> stop;
  std::optional<SteadyTime> next;  // when the next one is due
};
Overdue overdue(const std::vector<ContactLimit>& limits, SteadyTime last_contact, SteadyTime now);

// The time of the last contact, as it stands on the disk. The steady clock goes on over restarts of the agent, not of
// the machine.
struct ContactMark {
  std::string boot;  // names the run of the machine
  int64_t steady_ns = 0;
};
// The last contact of a former agent of this run of the machine; `now` where none is known.
SteadyTime contact_of(const std::optional<ContactMark>& mark, const std::string& boot, SteadyTime now);

}  // namespace drover::agent
