// A line of a plugin's standard error as an entry of the agent's log: hclog's JSON, "[LEVEL] text", a panic of Go, or
// any text. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/log.h"

namespace drover::plugin_programs {

struct LogEntry {
  log::Level level = log::Level::debug;
  std::string message;
  std::vector<std::pair<std::string, std::string>> fields{};  // with the plugin's own time as "timestamp"
};

// Knows whether the lines before were of a panic: what follows it without a level belongs to it.
class LogReader {
 public:
  // `line` without its end; of a longer one than kMaxLine the caller hands in pieces.
  LogEntry read(std::string_view line);

 private:
  bool is_panic_ = false;
};

inline constexpr size_t kMaxLine = 64 * 1024;

}  // namespace drover::plugin_programs
