// The wire (drover/wire.h) over gRPC.
#pragma once

#include <memory>

#include "drover/wire.h"

namespace drover::wire {

// Does nothing before start(); its destructor stops it.
std::unique_ptr<Wire> make_grpc_wire();

}  // namespace drover::wire
