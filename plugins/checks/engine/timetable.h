// When each of many things is due. Pure: time comes in. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "drover/clock.h"

namespace drover::checks {

// The first look at a check comes after half its interval, the others an interval after the end of the one before.
// `chance` in [0, 1) spreads them, so that checks that began together do not stay together: the first over two fifths
// of that time, the others over a tenth.
std::chrono::nanoseconds first_delay(std::chrono::nanoseconds interval, double chance);
std::chrono::nanoseconds next_delay(std::chrono::nanoseconds interval, double chance);

class Timetable {
 public:
  // In place of an earlier time of the same key.
  void put(uint64_t key, SteadyTime at);
  void remove(uint64_t key);
  // Takes out what is due, the longest due first, at most that many.
  std::vector<uint64_t> take_due(SteadyTime now, size_t most = SIZE_MAX);
  // The time of the first; nothing: there is none.
  std::optional<SteadyTime> next() const;
  size_t size() const { return times_.size(); }

 private:
  std::set<std::pair<SteadyTime, uint64_t>> order_;
  std::map<uint64_t, SteadyTime> times_;
};

}  // namespace drover::checks
