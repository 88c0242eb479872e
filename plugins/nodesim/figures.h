// Counts and latencies of the calls that simulated nodes make. The times go into buckets of an eighth of a power of two
// each, so that a percentile is right within a tenth. Pure, but for the lock. [any]
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "drover/mutex.h"

namespace drover::nodesim {

enum class Kind : uint8_t { registration, heartbeat, watch, fetch, report, services };
constexpr size_t kKinds = 6;

class Figures {
 public:
  void add(Kind kind, std::chrono::nanoseconds took, bool is_ok);
  // Allocations in reports that arrived.
  void reported(size_t allocations);

  uint64_t count(Kind kind) const;
  uint64_t errors() const;
  // The time that a share of the kind's good calls took at most; zero when there was none.
  std::chrono::nanoseconds percentile(Kind kind, double share) const;
  // A table, a line a kind. The time of a blocking read is how long it waited, so it is left out.
  std::string table() const;

 private:
  struct OfKind {
    uint64_t count = 0, errors = 0;
    std::array<uint64_t, 512> buckets{};
  };
  static size_t bucket_of(std::chrono::nanoseconds took);

  mutable Mutex mutex_;
  std::array<OfKind, kKinds> kinds_ DROVER_GUARDED_BY(mutex_);
  uint64_t allocations_ DROVER_GUARDED_BY(mutex_) = 0;
};

}  // namespace drover::nodesim
