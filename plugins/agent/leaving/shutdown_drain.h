// The drain of this node when its agent goes on purpose: the servers move its allocations away before it ends.
#pragma once

#include <chrono>

#include "allocations.h"
#include "client.h"
#include "drover/result.h"

namespace drover::agent {

// How long a drain may take altogether, with the time that the last tasks have to end.
std::chrono::nanoseconds drain_time(const ClientConfig& config);

// Asks the servers to drain this node, and waits until that is over and what it moved has ended here. The node stays
// closed for new work. While no server answers it asks again. Errors: deadline_exceeded when something is still there;
// cancelled when an operator called the drain off; else those of the calls. [a thread that may wait]
Status drain_before_end(const Client& client, const Allocations& allocations, SteadyTime deadline);

}  // namespace drover::agent
