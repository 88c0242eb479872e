// Streams the agent's log, as it is written, to everybody who watches.
#pragma once

#include "drover/api/system.pb.h"
#include "drover/methods.h"

namespace drover::status {

// Blocks until the caller has gone. Lines that the caller is too slow for are dropped and counted.
Status monitor(const v1::MonitorRequest& request, Call& call, Replies<v1::MonitorFrame>& replies);

}  // namespace drover::status
