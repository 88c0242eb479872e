// Methods as an endpoint of the stable ABI (drover/abi.h): what grpc_server.cc is to a socket.
#pragma once

#include "drover/abi.h"
#include "server.h"

namespace drover::serve {

// Its handlers run on threads of its own. The endpoint's release ends what is open, joins, calls `ended`, and destroys
// both.
drover_endpoint make_endpoint(Methods methods, std::function<void()> ended = {});

}  // namespace drover::serve
