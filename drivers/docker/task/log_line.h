// The time that the engine writes before each piece of a log, "2023-05-01T12:00:00.123456789Z ": taken off again, and
// what was read before left out. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::docker {

class LogStamps {
 public:
  // Pieces up to `seen`, nanoseconds since 1970, were read before.
  explicit LogStamps(int64_t seen) : before_(seen), seen_(seen) {}

  // What is to be passed on of a piece of a frame's content.
  std::string_view strip(std::string_view bytes, bool is_first);
  // The latest time of a piece passed on. The two outputs are not in order to the nanosecond.
  int64_t seen() const { return seen_; }

 private:
  const int64_t before_;
  int64_t seen_;
  std::string stamp_;  // as much of it as has come
  bool in_stamp_ = false;
  bool is_skipped_ = false;
};

// "1683000000.000000005", just after that time, as the engine takes it for `since`; empty for 0.
std::string since_after(int64_t seen);

}  // namespace drover::docker
