// Lanes (drover/wire.h) as gRPC streams: the greeting in the request's metadata, an empty message as the welcome, then
// messages in one direction only. One that nobody welcomes, or that takes nothing more, counts as broken although its
// connection is alive.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "drover/wire.h"
#include "stream.h"

namespace drover::wire {

struct LaneSetup {
  std::shared_ptr<grpc::Channel> channel;
  StreamGroup& streams;
  Executor& executor;  // waits between attempts
  Clock& clock;
  std::string greeting;
  LaneEvents events;
  std::chrono::nanoseconds patience = kPatience;
};
std::unique_ptr<Lane> open_lane(LaneSetup setup);

// A lane that another server opened here; `proven` says whether it is one. The acceptor outlives the stream; null
// refuses it.
void accept_lane(const std::shared_ptr<ServerStream>& stream, LaneAcceptor* acceptor, const Status& proven);

}  // namespace drover::wire
