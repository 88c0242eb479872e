// The agent's log as it is written, streamed to whoever watches.
#pragma once

#include "drover/methods.h"
#include "system.pb.h"

namespace drover::system {

// Blocks until the caller has gone. Lines that the caller is too slow for are dropped and counted.
Status monitor(const v1::MonitorRequest& request, Call& call, Replies<v1::MonitorFrame>& replies);

}  // namespace drover::system
