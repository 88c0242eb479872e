// A server's own clock, which counts from wherever it likes at a rate of its own and may jump ahead. Plain arithmetic.
#pragma once

#include "drover/clock.h"
#include "tests/simulation/world/event_loop.h"

namespace drover::simulation {

class NodeClock {
 public:
  NodeClock(Micros offset, int64_t deviation_ppm) : local_(offset), rate_(1'000'000 + deviation_ppm) {}

  Micros local(Micros now) const { return local_ + (now - since_) * rate_ / 1'000'000; }
  SteadyTime steady(Micros now) const { return SteadyTime(std::chrono::microseconds(local(now))); }
  // How much virtual time passes while this clock counts `local`.
  Micros duration(Micros local) const { return local * 1'000'000 / rate_; }

  void jump(Micros now, Micros ahead) {
    local_ = local(now) + ahead;
    since_ = now;
  }
  void set_rate(Micros now, int64_t deviation_ppm) {
    jump(now, 0);
    rate_ = 1'000'000 + deviation_ppm;
  }

 private:
  Micros local_;
  Micros since_ = 0;
  int64_t rate_;  // local microseconds in a virtual second
};

}  // namespace drover::simulation
