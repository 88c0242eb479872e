// A file of lines that is put away when it is large or old, and begun anew. [any]
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/clock.h"
#include "drover/fd.h"
#include "drover/mutex.h"
#include "drover/result.h"

namespace drover::audit {

struct LogFileOptions {
  std::string path;
  unsigned mode = 0600;
  uint64_t rotate_bytes = 0;                 // 0: however large
  std::chrono::nanoseconds rotate_after{};   // 0: however old
  size_t kept = 0;                           // files that were put away; 0: all of them
};

// The names of files that were put away, "NAME-<seconds since 1970>-<number>.EXTENSION", that are to go: the oldest
// ones but for `kept`. Pure.
std::vector<std::string> outdated(const std::string& path, std::vector<std::string> names, size_t kept);

class LogFile {
 public:
  LogFile(LogFileOptions options, Clock& clock) : options_(std::move(options)), clock_(clock) {}
  // Makes the folder where there is none, for its owner alone. Errors: those of the file.
  Status open();
  // The line is in the file, in whole, when it returns ok.
  Status add(std::string_view line);

 private:
  Status open_anew() DROVER_REQUIRES(mutex_);
  bool is_full(size_t more) const DROVER_REQUIRES(mutex_);
  Status put_away() DROVER_REQUIRES(mutex_);

  const LogFileOptions options_;
  Clock& clock_;
  Mutex mutex_;
  Fd file_ DROVER_GUARDED_BY(mutex_);
  uint64_t size_ DROVER_GUARDED_BY(mutex_) = 0;
  int64_t begun_at_ DROVER_GUARDED_BY(mutex_) = 0;  // nanoseconds since 1970
  uint64_t number_ DROVER_GUARDED_BY(mutex_) = 0;
};

}  // namespace drover::audit
