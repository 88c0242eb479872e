#include "logs/log_reader.h"
#include "drover/api/client.pb.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace drover::agent {
namespace {

class OpenFile {
 public:
  OpenFile() = default;
  ~OpenFile() { close(); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  bool open(const std::string& path) {
    close();
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd_ >= 0;
  }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  Result<size_t> read(std::vector<char>& into, uint64_t offset) const {
    while (true) {
      const ssize_t size = ::pread(fd_, into.data(), into.size(), static_cast<off_t>(offset));
      if (size >= 0) return static_cast<size_t>(size);
      if (errno != EINTR) return errno_status(errno, "read a log file");
    }
  }

 private:
  int fd_ = -1;
};

// The next file behind `number`, by what is there now.
std::optional<uint64_t> next_file(const LogReadOptions& options, uint64_t number) {
  for (const LogExtent& file : list_log_files(options.folder, options.base)) {
    if (file.number > number) return file.number;
  }
  return std::nullopt;
}

}  // namespace

Status read_logs(const LogReadOptions& options, LogGrowth& growth, Clock& clock, const std::stop_token& stop,
                 const std::function<bool(const v1::FileFrame&)>& send) {
  auto start = locate_log_offset(list_log_files(options.folder, options.base), options.from_end, options.offset);
  if (!start) return not_found("task not started");
  uint64_t number = start->number, offset = start->offset;
  OpenFile file;
  std::vector<char> buffer(kLogFrameBytes);
  bool is_open = file.open(options.folder + "/" + log_file_name(options.base, number));
  SteadyTime next_heartbeat = clock.steady() + options.heartbeat;
  while (!stop.stop_requested()) {
    // Both are looked at before reading: what comes between then is not missed.
    const uint64_t seen = growth.count();
    const std::optional<uint64_t> next = next_file(options, number);
    size_t size = 0;
    if (is_open) {
      DROVER_TRY(size, file.read(buffer, offset));
    }
    if (size > 0) {
      offset += size;
      v1::FileFrame frame;
      frame.set_offset(static_cast<int64_t>(offset));
      frame.set_data(buffer.data(), size);
      frame.set_file(log_file_name(options.base, number));
      if (!send(frame)) return ok_status();
      next_heartbeat = clock.steady() + options.heartbeat;
      continue;
    }
    if (next) {
      number = *next;
      offset = 0;
      is_open = file.open(options.folder + "/" + log_file_name(options.base, number));
      continue;
    }
    if (!options.follow) return ok_status();
    growth.wait(seen, next_heartbeat, stop);
    if (clock.steady() >= next_heartbeat) {
      if (!send(v1::FileFrame())) return ok_status();
      next_heartbeat = clock.steady() + options.heartbeat;
    }
  }
  return ok_status();
}

}  // namespace drover::agent
