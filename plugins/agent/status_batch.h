// When changed allocations are told to the servers: what matters at once, the rest merged. Pure: time comes in.
//
//   changed(urgent) ──50 ms──▶ due       changed ──1 s──▶ due       due: everything that has changed goes together
//   failed ──▶ again after a growing delay
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "drover/clock.h"
#include "drover/uuid.h"

namespace drover::agent {

class StatusBatch {
 public:
  static constexpr auto kUrgent = std::chrono::milliseconds(50);
  static constexpr auto kPatient = std::chrono::seconds(1);
  static constexpr auto kFirstRetry = std::chrono::milliseconds(500);
  static constexpr auto kLongestRetry = std::chrono::seconds(15);

  void changed(Uuid allocation, bool urgent, SteadyTime now);
  // Nothing: there is nothing to tell.
  std::optional<SteadyTime> due() const;
  // All that have changed; empty when it is not yet time.
  std::vector<Uuid> take(SteadyTime now);
  void delivered();
  // They were not told; `chance` in [0, 1) spreads the next attempt.
  void failed(const std::vector<Uuid>& allocations, SteadyTime now, double chance);

 private:
  std::set<Uuid> pending_;
  std::optional<SteadyTime> due_;
  std::optional<SteadyTime> not_before_;
  std::chrono::nanoseconds retry_{};
};

}  // namespace drover::agent
