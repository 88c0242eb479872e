// The time that the engine writes before each piece of a log, "2023-05-01T12:00:00.123456789Z ": taken off again, and
// what was read before left out. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::docker {

// How far a log was read: up to pieces of this time, nanoseconds since 1970, and of those so many. Podman's times are
// whole seconds, so that many pieces may have the same one.
struct LogPosition {
  int64_t time = 0;
  uint32_t count = 0;

  friend bool operator==(const LogPosition&, const LogPosition&) = default;
};

class LogStamps {
 public:
  // What was passed on before.
  explicit LogStamps(LogPosition before) : before_(before), now_(before), done_(before) {}

  // What is to be passed on of a piece of a frame's content.
  std::string_view strip(std::string_view bytes, bool is_first);
  // With the last piece, or without it while it has not come to its end. The two outputs are not in order to the
  // nanosecond: the latest time counts.
  LogPosition position(bool is_complete) const { return is_complete ? now_ : done_; }

 private:
  void begin(int64_t time);

  const LogPosition before_;
  uint32_t skipped_ = 0;  // of the time of `before_`
  LogPosition now_, done_;
  std::string stamp_;  // as much of it as has come
  bool in_stamp_ = false;
  bool is_skipped_ = false;
};

// "1683000000.000000005" as the engine takes it for `since`: a little before that position, for engines that read it
// as a floating-point number; empty for none.
std::string since_position(const LogPosition& position);

// The position as a line of a file, and back; nothing for what is none.
std::string write_position(const LogPosition& position);
LogPosition read_position(std::string_view text);

}  // namespace drover::docker
