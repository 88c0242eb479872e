#include "task/log_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "drover/fd.h"
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

// For reading too, so that a FIFO opens without a reader and a writer never sees a broken pipe.
int open_pipe(const std::string& path) {
  if (path.empty()) return -1;
  const int fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    log::warn("docker", "a task's pipe could not be opened",
              {{"path", path}, {"error", errno_status(errno, "open").message()}});
  return fd;
}

// How far the log was passed on, over restarts.
class Position {
 public:
  explicit Position(const std::string& path) : file_(open(path)) {
    std::array<char, 64> text{};
    const ssize_t size = file_.get() < 0 ? 0 : ::pread(file_.get(), text.data(), text.size(), 0);
    if (size > 0) now_ = read_position({text.data(), static_cast<size_t>(size)});
  }
  const LogPosition& get() const { return now_; }
  void set(const LogPosition& position) {
    if (position == now_) return;
    now_ = position;
    const std::string text = write_position(now_);
    if (file_.get() >= 0) (void)!::pwrite(file_.get(), text.data(), text.size(), 0);
  }

 private:
  static int open(const std::string& path) {
    if (path.empty()) return -1;
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  }
  const Fd file_;
  LogPosition now_;
};

class Reading {
 public:
  Reading(Engine& engine, const LogOrder& order, std::stop_token stop)
      : engine_(engine),
        order_(order),
        stop_(std::move(stop)),
        out_(open_pipe(order.stdout_path)),
        error_(open_pipe(order.stderr_path)),
        position_(order.position_file) {}

  void run() {
    std::chrono::nanoseconds pause = kFirstPause;
    while (!stop_.stop_requested()) {
      const LogPosition before = position_.get();
      const Status read = follow();
      if (stop_.stop_requested() || is_over(read)) return;
      if (position_.get() != before) pause = kFirstPause;
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
                                      {"since", since_position(position_.get())}});
    DROVER_TRY(auto exchange, engine_.open({.target = target}, Patience::of(kConnectTime, stop_)));
    std::array<char, 32 * 1024> piece;
    FrameParser frames;
    LogStamps stamps(position_.get());
    while (true) {
      DROVER_TRY(const size_t size, exchange->read(piece, {SteadyTime::max(), stop_}));
      if (size == 0) return ok_status();
      const std::string_view bytes(piece.data(), size);
      if (!has_stamps) {
        DROVER_RETURN_IF_ERROR(write(out_.get(), bytes));
        // Without times in it, a terminal's log is read on from now.
        position_.set({.time = SystemClock().wall_ns(), .count = 0});
        continue;
      }
      DROVER_RETURN_IF_ERROR(frames.feed(bytes, [&](Output output, std::string_view content, bool is_first) {
        return write(output == Output::out ? out_.get() : error_.get(), stamps.strip(content, is_first));
      }));
      // A piece that has come in part is read again after a restart.
      position_.set(stamps.position(frames.is_between()));
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
  const Fd out_, error_;
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
