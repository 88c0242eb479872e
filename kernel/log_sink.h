// Writes the agent's log lines to standard error, a file, and to everybody who watches (monitor). spdlog; only
// log_sink.cc includes it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "drover/log.h"
#include "drover/result.h"

namespace drover {

struct LogOptions {
  bool json = false;
  bool to_stderr = true;
  std::string file;  // a path, or a folder for "drover.log" in it; empty: none
  uint64_t rotate_bytes = 0;
  int max_files = 0;
};

// Errors: the file cannot be opened.
Result<std::unique_ptr<log::Sink>> make_log_sink(const LogOptions& options);

}  // namespace drover
