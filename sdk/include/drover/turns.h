// Turns by name: whoever comes waits for all who came before, and has the name for itself until it lets go. So no two
// calls about one thing are in flight, and their order is not chance. [any]
#pragma once

#include <deque>
#include <map>
#include <stop_token>
#include <string>
#include <utility>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/result.h"

namespace drover {

class Turns {
 public:
  class Turn {
   public:
    Turn(Turns& turns, std::string name, uint64_t ticket) : turns_(&turns), name_(std::move(name)), ticket_(ticket) {}
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), name_(std::move(other.name_)), ticket_(other.ticket_) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() { end(); }
    // Earlier than the end of its life.
    void end();

   private:
    Turns* turns_;
    std::string name_;
    uint64_t ticket_;
  };

  // Waits; not with a deadline that is over. Errors: deadline_exceeded; cancelled by `stop`.
  Result<Turn> take(const std::string& name, SteadyTime deadline, const std::stop_token& stop);
  // Those who wait for their turn.
  size_t waiting(const std::string& name) const;

 private:
  void leave(const std::string& name, uint64_t ticket);

  mutable Mutex mutex_;
  CondVarAny changed_;
  uint64_t last_ DROVER_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::deque<uint64_t>> queues_ DROVER_GUARDED_BY(mutex_);  // whose turn it is comes first
};

}  // namespace drover
