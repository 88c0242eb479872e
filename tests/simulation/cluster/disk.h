// How long one server's disk takes for a write, and its bad moments. The bytes are in a FaultFileSystem. Single-owner.
#pragma once

#include <algorithm>

#include "tests/simulation/configuration.h"
#include "tests/simulation/world/event_loop.h"
#include "tests/simulation/world/random.h"
#include "tests/support/fault_file_system.h"

namespace drover::simulation {

class Disk {
 public:
  Disk(const Configuration& configuration, uint64_t seed)
      : files(seed, configuration.direct_writes != 0), configuration_(configuration), random_(seed, "disk") {
    files.set_survival(static_cast<uint64_t>(configuration.sector_survival),
                       static_cast<uint64_t>(configuration.garbage_sectors));
  }

  raft::FaultFileSystem files;

  // A write that begins now: when it reaches the medium, and when the server hears of it. Only what has reached the
  // medium is there after a crash.
  struct Times {
    Micros reaches = 0;
    Micros is_told = 0;
  };
  Times write(Micros now) {
    Micros takes = random_.exponential(configuration_.disk_write);
    if (now < slow_until_) takes *= 50;
    const Micros begins = std::max(now, hangs_until_);
    const Micros part = random_.chance(500'000) ? takes : random_.between(0, takes);
    return {begins + part, begins + takes};
  }

  void slow_until(Micros until) { slow_until_ = until; }
  void hang_until(Micros until) { hangs_until_ = until; }
  bool hangs(Micros now) const { return now < hangs_until_; }

  void heal() {
    slow_until_ = hangs_until_ = 0;
    files.crash_after(1ull << 60);  // a power cut that was to come does not
    files.fail_writes("", 0);
    files.fail_syncs("", 0);
    files.fail_reads("", 0);
    files.set_space(UINT64_MAX);
  }

 private:
  const Configuration& configuration_;
  Random random_;
  Micros slow_until_ = 0;
  Micros hangs_until_ = 0;
};

}  // namespace drover::simulation
