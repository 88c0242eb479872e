// The wire (drover/wire.h) over gRPC.
#pragma once

#include <chrono>
#include <memory>

#include "drover/wire.h"

namespace drover::wire {

// Limits of what others may take of the port that calls come in by, and of calls.
struct WireLimits {
  std::chrono::nanoseconds handshake = std::chrono::seconds(5);  // of TLS and of HTTP/2
  size_t connections_per_address = 100;                          // with calls on them; 0: no limit
  // Deadlines of unary calls that are farther away are kept here and not by gRPC, whose timers look at each far one
  // again every second, at both ends: all nodes of a server wait by blocking reads of minutes.
  std::chrono::nanoseconds near_deadline = std::chrono::minutes(1);
};

// Does nothing before start(); its destructor stops it. The limits count when it listens.
std::unique_ptr<Wire> make_grpc_wire(std::shared_ptr<const WireLimits> limits = std::make_shared<const WireLimits>());

}  // namespace drover::wire
