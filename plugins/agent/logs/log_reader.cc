#include "logs/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "drover/api/client.pb.h"
#include "drover/fd.h"
#include "files/file_reader.h"

namespace drover::agent {
namespace {

constexpr const char* kFolder = "alloc/logs/";  // as the API names the files

// One reading. Single-owner.
class LogReading {
 public:
  LogReading(const LogReadOptions& options, LogGrowth& growth, Clock& clock, const SendFrame& send)
      : options_(options), growth_(growth), clock_(clock), send_(send), buffer_(kLogFrameBytes) {}

  Status run(const std::stop_token& stop) {
    const std::vector<LogExtent> files = list_log_files(options_.folder, options_.base);
    const auto start = locate_log_offset(files, options_.from_end, options_.offset);
    if (!start) return not_found("there is no log " + options_.base);
    if (!options_.follow) end_ = files.back();  // a task that prints all the time would make it endless
    open(start->number, start->offset);
    next_heartbeat_ = clock_.steady() + options_.heartbeat;
    while (!stop.stop_requested()) {
      // Both are looked at before reading: what comes between then is not missed.
      const uint64_t seen = growth_.count();
      const std::optional<uint64_t> next = next_file();
      DROVER_TRY(const size_t size, read());
      if (size > 0 ? !pass(frame_of(size)) : !tell_changes()) break;
      if (size > 0) continue;
      if (next) {
        open(*next, 0);
        continue;
      }
      if (!options_.follow) break;
      if (!std::exchange(has_told_end_, true)) {
        if (!pass(v1::FileFrame())) break;
        continue;
      }
      growth_.wait(seen, next_heartbeat_, stop);
      if (clock_.steady() >= next_heartbeat_ && !pass(v1::FileFrame())) break;
    }
    return ok_status();
  }

 private:
  std::string name() const { return log_file_name(options_.base, number_); }
  void open(uint64_t number, uint64_t offset) {
    number_ = number;
    offset_ = offset;
    is_deleted_ = false;
    const std::string path = options_.folder + "/" + name();
    file_ = Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  }
  // The next file behind this one, by what is there now.
  std::optional<uint64_t> next_file() const {
    for (const LogExtent& file : list_log_files(options_.folder, options_.base)) {
      if (file.number > number_ && file.number <= end_.number) return file.number;
    }
    return std::nullopt;
  }
  Result<size_t> read() {
    const uint64_t left = number_ == end_.number ? end_.size - std::min(end_.size, offset_) : UINT64_MAX;
    if (!file_ || left == 0) return size_t{0};
    const size_t wanted = std::min<uint64_t>(left, buffer_.size());
    DROVER_TRY(const size_t size, read_at(file_, std::span(buffer_).first(wanted), offset_));
    offset_ += size;
    return size;
  }
  // At the end of what there is. False when the caller has gone.
  bool tell_changes() {
    struct stat now {};
    if (!options_.follow || !file_ || ::fstat(file_.get(), &now) != 0) return true;
    if (static_cast<uint64_t>(now.st_size) < offset_) {
      offset_ = 0;
      return pass(event(kFileTruncated));
    }
    if (now.st_nlink > 0 || std::exchange(is_deleted_, true)) return true;
    return pass(event(kFileDeleted));
  }

  v1::FileFrame begin() const {
    v1::FileFrame frame;
    frame.set_offset(static_cast<int64_t>(offset_));
    frame.set_file(kFolder + name());
    return frame;
  }
  v1::FileFrame frame_of(size_t size) const {
    v1::FileFrame frame = begin();
    frame.set_data(buffer_.data(), size);
    return frame;
  }
  v1::FileFrame event(const char* what) const {
    v1::FileFrame frame = begin();
    frame.set_file_event(what);
    return frame;
  }
  bool pass(const v1::FileFrame& frame) {
    next_heartbeat_ = clock_.steady() + options_.heartbeat;
    return send_(frame);
  }

  const LogReadOptions& options_;
  LogGrowth& growth_;
  Clock& clock_;
  const SendFrame& send_;
  std::vector<char> buffer_;
  LogExtent end_{.number = UINT64_MAX, .size = UINT64_MAX};
  Fd file_;
  uint64_t number_ = 0, offset_ = 0;
  bool is_deleted_ = false, has_told_end_ = false;
  SteadyTime next_heartbeat_;
};

}  // namespace

Status read_logs(const LogReadOptions& options, LogGrowth& growth, Clock& clock, const std::stop_token& stop,
                 const std::function<bool(const v1::FileFrame&)>& send) {
  return LogReading(options, growth, clock, send).run(stop);
}

}  // namespace drover::agent
