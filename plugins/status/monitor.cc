#include "monitor.h"

#include <algorithm>
#include <deque>

#include "drover/clock.h"
#include "drover/log.h"
#include "drover/mutex.h"

namespace drover::status {
namespace {

constexpr size_t kBufferedLines = 512;
constexpr size_t kFrameBytes = 1024;
constexpr auto kHeartbeat = std::chrono::seconds(1);

Result<log::Level> level_of(std::string text) {
  if (text.empty()) return log::Level::info;
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (log::Level level :
       {log::Level::trace, log::Level::debug, log::Level::info, log::Level::warn, log::Level::error}) {
    if (log::to_string(level) == text) return level;
  }
  return invalid_argument("Unknown log level: " + text);
}

}  // namespace

Status monitor(const v1::MonitorRequest& request, Call& call, Replies<v1::MonitorFrame>& replies) {
  DROVER_TRY(log::Level level, level_of(request.log_level()));
  struct Buffer {
    Mutex mutex;
    CondVarAny changed;
    std::deque<std::string> lines DROVER_GUARDED_BY(mutex);
    uint64_t dropped DROVER_GUARDED_BY(mutex) = 0;
  } buffer;
  const SystemClock clock;
  log::Tap tap(level, [&](log::Level at, std::string_view component, std::string_view sentence,
                          std::span<const log::Field> fields) {
    std::string line = log::format(clock.wall_ns(), at, component, sentence, fields, request.log_json()) + "\n";
    MutexLock lock(buffer.mutex);
    if (buffer.lines.size() >= kBufferedLines) {
      ++buffer.dropped;
      return;
    }
    buffer.lines.push_back(std::move(line));
    buffer.changed.notify_one();
  });
  while (!call.stop().stop_requested()) {
    v1::MonitorFrame frame;
    {
      MutexLock lock(buffer.mutex);
      buffer.changed.wait_until(lock, call.stop(), clock.steady() + kHeartbeat,
                                [&]() DROVER_REQUIRES(buffer.mutex) { return !buffer.lines.empty(); });
      if (buffer.dropped > 0) {
        frame.mutable_data()->append("[WARN]  monitor: dropped " + std::to_string(buffer.dropped) +
                                     " lines because the reader is slow\n");
        buffer.dropped = 0;
      }
      while (!buffer.lines.empty() && frame.data().size() < kFrameBytes) {
        frame.mutable_data()->append(buffer.lines.front());
        buffer.lines.pop_front();
      }
    }
    if (!frame.data().empty()) frame.set_file_event("log");
    if (!replies.send(frame)) break;
  }
  return ok_status();
}

}  // namespace drover::status
