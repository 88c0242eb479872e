// The wire (drover/wire.h) over gRPC.
#pragma once

#include <chrono>
#include <memory>

#include "drover/wire.h"

namespace drover::wire {

// Limits of what others may take of the port that calls come in by.
struct WireLimits {
  std::chrono::nanoseconds handshake = std::chrono::seconds(5);  // of TLS and of HTTP/2
  size_t connections_per_address = 100;                          // with calls on them; 0: no limit
};

// Does nothing before start(); its destructor stops it. The limits count when it listens.
std::unique_ptr<Wire> make_grpc_wire(std::shared_ptr<const WireLimits> limits = std::make_shared<const WireLimits>());

}  // namespace drover::wire
