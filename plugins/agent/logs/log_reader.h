// Streams the logs of a task across its rotated files. A function of files and of a signal that they grew; runs on the
// caller's thread until everything is sent, or, when following, until the caller goes. A follower hears where the end
// is: by an empty frame as soon as it is reached, and then as a sign of life; and of files that are truncated or
// deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "drover/clock.h"
#include "drover/result.h"
#include "logs/log_collector.h"

namespace drover::v1 {
class FileFrame;
}

namespace drover::agent {

struct LogReadOptions {
  std::string folder;
  std::string base;  // "<task>.stdout"
  bool from_end = false;
  uint64_t offset = 0;
  bool follow = false;
  std::chrono::nanoseconds heartbeat = std::chrono::seconds(1);
};

inline constexpr size_t kLogFrameBytes = 64 * 1024;

// `send`: false when the caller has gone. Errors: not_found when the task has no logs; as reading a file.
Status read_logs(const LogReadOptions& options, LogGrowth& growth, Clock& clock, const std::stop_token& stop,
                 const std::function<bool(const v1::FileFrame&)>& send);

}  // namespace drover::agent
