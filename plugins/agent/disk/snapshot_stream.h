// Reads the snapshot of an allocation from the node that has it, through the servers.
//
// A reader that is slow slows the sender down: a few parts wait here. One thread reads; parts come on the router's.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "client.h"
#include "drover/result.h"
#include "drover/uuid.h"

namespace drover::agent {

struct SnapshotTimes {
  std::chrono::nanoseconds silence = std::chrono::minutes(1);  // without a part or a sign of life
  std::chrono::nanoseconds all = std::chrono::hours(2);
};

class SnapshotStream {
 public:
  // Errors: those of the way there.
  static Result<SnapshotStream> open(const Client& client, Uuid allocation, const SnapshotTimes& times,
                                     std::stop_token stop);
  ~SnapshotStream();
  SnapshotStream(SnapshotStream&&) noexcept;
  SnapshotStream& operator=(SnapshotStream&&) = delete;

  // The next bytes; empty at the end. Errors: those of the other node and the way there; cancelled;
  // deadline_exceeded after a silence.
  Result<std::string> next();

 private:
  struct State;
  explicit SnapshotStream(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace drover::agent
