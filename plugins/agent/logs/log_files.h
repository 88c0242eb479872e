// Rotated log files of one stream of one task: "<task>.<stdout|stderr>.<N>", N growing, the oldest removed.
//
// The decisions (where to break, which file an offset lies in) are pure; LogFile and list_log_files do the I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::agent {

inline constexpr size_t kLogLookBack = 32 * 1024;

// How many bytes of `data` still go into a file of `size` bytes; the rest goes into the next one. Breaks behind a line
// end when there is one within the look-back. `at_line_start`: the file ends with a line end, or is empty.
size_t fit_into_log(uint64_t size, uint64_t limit, std::string_view data, bool at_line_start);

struct LogExtent {
  uint64_t number;  // N of the name
  uint64_t size;
};
struct LogPosition {
  uint64_t number;
  uint64_t offset;  // in that file
};
// Where reading starts: `offset` bytes behind the beginning of all files, or before their end; outside, the nearest
// end. Nothing when there are no files. Requires: files sorted by number.
std::optional<LogPosition> locate_log_offset(std::span<const LogExtent> files, bool from_end, uint64_t offset);

std::string log_file_name(const std::string& base, uint64_t number);
// The files of `base` ("<task>.stdout") in a folder, sorted by number.
std::vector<LogExtent> list_log_files(const std::string& folder, const std::string& base);

// The newest file, open for appending. Single owner.
class LogWriter {
 public:
  struct Limits {
    uint64_t bytes = 10u << 20;
    uint64_t files = 10;
  };
  // Goes on with the newest file there is. Errors: as open.
  static Result<LogWriter> open(const std::string& folder, const std::string& base, Limits limits);
  LogWriter(LogWriter&& other) noexcept;
  LogWriter& operator=(LogWriter&&) = delete;
  ~LogWriter();

  Status append(std::string_view data);
  // The same for what stands at the head of a pipe: moved by the kernel, it is in one of the two at any time, so who is
  // killed loses and repeats nothing. Where the file's system can't do that, it is in both for a moment. What
  // cannot be written is gone from the pipe all the same.
  Status take(int pipe, std::string_view data);

 private:
  LogWriter(std::string folder, std::string base, Limits limits);
  Status open_file(uint64_t number);
  // Both: from the pipe, or from the memory where that is -1. What put() has not written stays in `data`.
  Status put(std::string_view& data, int pipe);
  Result<size_t> write_some(std::string_view data, int pipe);  // 0: the pipe is empty

  std::string folder_, base_;
  Limits limits_;
  int fd_ = -1;
  uint64_t number_ = 0;
  uint64_t size_ = 0;
  bool at_line_start_ = true;
};

}  // namespace drover::agent
