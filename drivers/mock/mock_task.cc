#include "mock_task.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "drover/log.h"

namespace drover::mock {

using namespace std::chrono_literals;
namespace proto = hashicorp::nomad::plugins::drivers::proto;

namespace {

constexpr auto kFullPipeRetry = 20ms;
// A task may be told to run for centuries; a deadline beyond this would overflow the clock.
constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365 * 50);

SteadyTime after(std::chrono::nanoseconds wait) {
  return SystemClock().steady() + std::clamp(wait, std::chrono::nanoseconds(0), kLongest);
}

void set_time(google::protobuf::Timestamp& stamp, int64_t ns) {
  stamp.set_seconds(ns / 1'000'000'000);
  stamp.set_nanos(static_cast<int32_t>(ns % 1'000'000'000));
}

// For reading too, so that a FIFO opens without a reader and a writer never sees a broken pipe.
int open_output(const std::string& path) {
  if (path.empty()) return -1;
  const int fd = open(path.c_str(), O_RDWR | O_NONBLOCK | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0)
    log::warn("mock", "output could not be opened", {{"path", path}, {"error", errno_status(errno, "open").message()}});
  return fd;
}

}  // namespace

MockTask::MockTask(const proto::TaskConfig& config, MockOptions options, std::chrono::nanoseconds runs_for,
                   int64_t started_at, bool writes_output)
    : id_(config.id()),
      name_(config.name()),
      stdout_path_(config.stdout_path()),
      stderr_path_(config.stderr_path()),
      options_(std::move(options)),
      started_at_(started_at),
      ends_at_(after(runs_for)),
      writes_output_(writes_output),
      thread_([this](std::stop_token stop) { run(stop); }) {}

MockTask::~MockTask() = default;

void MockTask::run(std::stop_token stop) {
  pthread_setname_np(pthread_self(), "mock_task");
  const int out = writes_output_ ? open_output(stdout_path_) : -1;
  const int err = writes_output_ ? open_output(stderr_path_) : -1;
  int64_t out_written = 0, err_written = 0;
  SteadyTime out_next = SteadyTime::min(), err_next = SteadyTime::min();
  while (true) {
    write_output(out, options_.stdout_output, out_written, out_next, stop);
    write_output(err, options_.stderr_output, err_written, err_next, stop);
    MutexLock lock(mutex_);
    const SteadyTime now = SystemClock().steady();
    if (stop.stop_requested()) {
      finish(137, 9);
      break;
    }
    if (stops_at_ && now >= *stops_at_) {
      finish(128 + stop_signal_, stop_signal_);
      break;
    }
    if (now >= ends_at_) {
      finish(static_cast<int>(options_.exit_code), static_cast<int>(options_.exit_signal));
      break;
    }
    SteadyTime wake = std::min({ends_at_, out_next, err_next});
    if (stops_at_) wake = std::min(wake, *stops_at_);
    const std::optional<SteadyTime> seen = stops_at_;
    changed_.wait_until(lock, stop, wake, [&]() DROVER_REQUIRES(mutex_) { return stops_at_ != seen; });
  }
  if (out >= 0) close(out);
  if (err >= 0) close(err);
}

// Writes what is due, and sets `next` to when more is.
void MockTask::write_output(int fd, const Output& output, int64_t& written, SteadyTime& next, std::stop_token stop) {
  const auto total = static_cast<int64_t>(output.text.size()) * (output.repeat + 1);
  if (next == SteadyTime::min()) next = SystemClock().steady();
  while (fd >= 0 && written < total && SystemClock().steady() >= next && !stop.stop_requested()) {
    const size_t from = static_cast<size_t>(written) % output.text.size();
    const ssize_t n = ::write(fd, output.text.data() + from, output.text.size() - from);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {  // nobody reads: look again soon, and notice a stop meanwhile
      next = after(kFullPipeRetry);
      return;
    }
    if (n < 0) {
      log::warn("mock", "output could not be written",
                {{"task", id_}, {"error", errno_status(errno, "write").message()}});
      written = total;
      break;
    }
    written += n;
    if (static_cast<size_t>(written) % output.text.size() == 0) next = after(output.repeat_duration);
  }
  if (fd < 0 || written >= total) next = SteadyTime::max();
}

void MockTask::finish(int exit_code, int signal) {
  proto::ExitResult result;
  result.set_exit_code(exit_code);
  result.set_signal(signal);
  result_ = result;
  completed_at_ = SystemClock().wall_ns();
  changed_.notify_all();
}

std::optional<proto::ExitResult> MockTask::wait(std::stop_token stop) {
  MutexLock lock(mutex_);
  changed_.wait(lock, stop, [&]() DROVER_REQUIRES(mutex_) { return result_.has_value(); });
  return result_;
}

void MockTask::end(std::chrono::nanoseconds timeout, int signal) {
  MutexLock lock(mutex_);
  const SteadyTime killed_at = after(timeout);
  const SteadyTime reacts_at = options_.ignore_kill ? SteadyTime::max() : after(options_.kill_after);
  if (!stops_at_ || std::min(killed_at, reacts_at) < *stops_at_) {
    stops_at_ = std::min(killed_at, reacts_at);
    stop_signal_ = reacts_at <= killed_at ? signal : 9;
    changed_.notify_all();
  }
  changed_.wait(lock, [&]() DROVER_REQUIRES(mutex_) { return result_.has_value(); });
}

bool MockTask::is_running() const {
  MutexLock lock(mutex_);
  return !result_;
}

proto::TaskStatus MockTask::status() const {
  MutexLock lock(mutex_);
  proto::TaskStatus status;
  status.set_id(id_);
  status.set_name(name_);
  status.set_state(result_ ? proto::EXITED : proto::RUNNING);
  set_time(*status.mutable_started_at(), started_at_);
  set_time(*status.mutable_completed_at(), completed_at_);
  if (result_) *status.mutable_result() = *result_;
  return status;
}

}  // namespace drover::mock
