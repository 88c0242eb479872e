#include "task/log_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "drover/log.h"
#include "drover/pause.h"
#include "engine/frames.h"
#include "task/containers.h"
#include "task/log_line.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstPause = 500ms;
constexpr auto kLongestPause = 2min;
constexpr auto kConnectTime = 30s;
constexpr int kFullPipeLook = 200;  // ms between two looks at a stop while nobody reads a pipe
constexpr int64_t kSecond = 1'000'000'000;

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

// For reading too, so that a FIFO opens without a reader and a writer never sees a broken pipe.
int open_pipe(const std::string& path) {
  if (path.empty()) return -1;
  const int fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    log::warn("docker", "a task's pipe could not be opened",
              {{"path", path}, {"error", errno_status(errno, "open").message()}});
  return fd;
}

// The time of the last piece that was passed on, over restarts: 20 digits.
class Position {
 public:
  Position(const std::string& path, int64_t otherwise) : file_(open(path)), seen_(otherwise) {
    std::array<char, 20> text{};
    if (file_.get() < 0 || ::pread(file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      return;
    int64_t kept = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), kept);
    if (read.ec == std::errc()) seen_ = std::max(kept, seen_);
  }
  int64_t seen() const { return seen_; }
  void set(int64_t seen) {
    if (seen == seen_) return;
    seen_ = seen;
    if (file_.get() < 0) return;
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "%020lld", static_cast<long long>(seen));
    (void)!::pwrite(file_.get(), text.data(), 20, 0);
  }

 private:
  static int open(const std::string& path) {
    if (path.empty()) return -1;
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  }
  const File file_;
  int64_t seen_;
};

class Reading {
 public:
  Reading(Engine& engine, const LogOrder& order, std::stop_token stop)
      : engine_(engine),
        order_(order),
        stop_(std::move(stop)),
        out_(open_pipe(order.stdout_path)),
        error_(open_pipe(order.stderr_path)),
        position_(order.position_file, order.since) {}

  void run() {
    std::chrono::nanoseconds pause = kFirstPause;
    while (!stop_.stop_requested()) {
      const int64_t before = position_.seen();
      const Status read = follow();
      if (stop_.stop_requested() || is_over(read)) return;
      if (position_.seen() != before) pause = kFirstPause;
      if (!read.ok())
        log::debug("docker", "a container's log broke off and is read again",
                   {{"container", order_.container}, {"error", read.message()}});
      if (!pause_for(pause, stop_)) return;
      pause = std::min<std::chrono::nanoseconds>(pause * 2, kLongestPause);
    }
  }

 private:
  // True when no more can come.
  bool is_over(const Status& read) {
    const bool has_none =
        read.code() == Code::unimplemented || read.message().find("does not support reading") != std::string::npos;
    if (has_none) {
      log::info("docker", "a container's log driver cannot be read; the task has no logs",
                {{"container", order_.container}});
      return true;
    }
    if (read.code() == Code::not_found) return true;
    if (!read.ok()) return false;
    const auto now = inspect_container(engine_, order_.container, Patience::of(kConnectTime, stop_));
    return now ? !now->is_running : now.status().code() == Code::not_found;
  }

  Status follow() {
    const bool has_stamps = !order_.has_tty;
    const std::string target = "/containers/" + percent_encode(order_.container) + "/logs" +
                               query({{"follow", "1"},
                                      {"stdout", "1"},
                                      {"stderr", "1"},
                                      {"timestamps", has_stamps ? "1" : "0"},
                                      {"since", since_after(position_.seen())}});
    DROVER_TRY(auto exchange, engine_.open({.target = target}, Patience::of(kConnectTime, stop_)));
    std::array<char, 32 * 1024> piece;
    FrameParser frames;
    LogStamps stamps(position_.seen());
    while (true) {
      DROVER_TRY(const size_t size, exchange->read(piece, {SteadyTime::max(), stop_}));
      if (size == 0) return ok_status();
      const std::string_view bytes(piece.data(), size);
      if (!has_stamps) {
        DROVER_RETURN_IF_ERROR(write(out_.get(), bytes));
        position_.set(SystemClock().wall_ns());
        continue;
      }
      DROVER_RETURN_IF_ERROR(frames.feed(bytes, [&](Output output, std::string_view content, bool is_first) {
        return write(output == Output::out ? out_.get() : error_.get(), stamps.strip(content, is_first));
      }));
      // A piece that has come in part is read again after a restart, not left out.
      position_.set(frames.is_between() ? stamps.seen() : std::max(position_.seen(), stamps.seen() - 1));
    }
  }

  // Waits for a reader when the pipe is full.
  Status write(int fd, std::string_view bytes) {
    while (fd >= 0 && !bytes.empty()) {
      const ssize_t size = ::write(fd, bytes.data(), bytes.size());
      if (size >= 0) {
        bytes.remove_prefix(static_cast<size_t>(size));
        continue;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return errno_status(errno, "write a task's output");
      if (stop_.stop_requested()) return cancelled("the log's reader is stopped");
      pollfd watched{.fd = fd, .events = POLLOUT, .revents = 0};
      (void)::poll(&watched, 1, kFullPipeLook);
    }
    return ok_status();
  }

  Engine& engine_;
  const LogOrder& order_;
  const std::stop_token stop_;
  const File out_, error_;
  Position position_;
};

}  // namespace

LogReader::LogReader(Engine& engine, LogOrder order)
    : engine_(engine), order_(std::move(order)), thread_([this](std::stop_token stop) { run(stop); }) {}

LogReader::~LogReader() { stop(); }

void LogReader::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "docker-logs");
  Reading(engine_, order_, stop).run();
  const MutexLock lock(mutex_);
  is_ended_ = true;
  ended_.notify_all();
}

bool LogReader::wait_end(SteadyTime deadline) {
  MutexLock lock(mutex_);
  return ended_.wait_until(lock, deadline, [this]() DROVER_REQUIRES(mutex_) { return is_ended_; });
}

void LogReader::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace drover::docker
