#include "programs/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "csi/protocol/redact.h"
#include "drover/log.h"

namespace drover::mounts {
namespace {

using plugin_programs::kMaxLine;

constexpr int kPipeBytes = 1 << 20;  // that it may print while nobody reads
constexpr int kLinesPerSecond = 1000;
constexpr int kLastReads = 64;    // after it was told to close
constexpr size_t kCutOff = 4096;  // of a line that is too long: a secret may begin there, and end where nobody looks

// The level of a line as most storage plugins write it ("E1126 21:12:04.214 …", as klog does). Any other text is worth
// reading.
log::Level level_of_text(std::string_view line) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (line.size() > 5 && std::ranges::all_of(line.substr(1, 4), is_digit) && line[5] == ' ') {
    if (line[0] == 'W') return log::Level::warn;
    if (line[0] == 'E' || line[0] == 'F') return log::Level::error;
  }
  return log::Level::info;
}

// Says its level itself.
bool has_level(std::string_view line) { return line.starts_with('[') || line.starts_with('{'); }

}  // namespace

ProgramOutput::ProgramOutput(std::string plugin, std::shared_ptr<const csi::KnownSecrets> secrets, Clock& clock)
    : plugin_(std::move(plugin)), secrets_(std::move(secrets)), clock_(clock) {}

Status ProgramOutput::open(const std::string& fifo) {
  if (::mkfifo(fifo.c_str(), 0600) != 0 && errno != EEXIST) return errno_status(errno, "create " + fifo);
  // For writing too: it has no end while nobody else has it open.
  fifo_ = Fd(::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!fifo_) return errno_status(errno, "open " + fifo);
  struct stat found {};
  if (::fstat(fifo_.get(), &found) != 0 || !S_ISFIFO(found.st_mode)) {
    fifo_.close();
    return failed_precondition(fifo + " is there, and is no FIFO");
  }
  (void)::fcntl(fifo_.get(), F_SETPIPE_SZ, kPipeBytes);  // as far as this user may
  std::array<char, 64 * 1024> unseen{};
  for (int i = 0; i<2 * kLastReads&& ::read(fifo_.get(), unseen.data(), unseen.size())> 0; ++i) {
  }
  quiet_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!quiet_) return errno_status(errno, "eventfd");
  thread_ = std::thread([this] { run(); });
  return ok_status();
}

void ProgramOutput::close() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(quiet_.get(), &one, sizeof one);
  thread_.join();
  fifo_.close();
}

void ProgramOutput::run() {
  ::pthread_setname_np(::pthread_self(), "csi-output");
  std::array<pollfd, 2> events{pollfd{.fd = fifo_.get(), .events = POLLIN, .revents = 0},
                               pollfd{.fd = quiet_.get(), .events = POLLIN, .revents = 0}};
  while (events[1].revents == 0) {
    if (::poll(events.data(), events.size(), -1) < 0) continue;
    if (events[0].revents != 0) (void)read();
  }
  for (int i = 0; i < kLastReads && read(); ++i) {
  }
  if (!buffer_.empty() && !is_cut_) log_line(buffer_);
  tell_dropped();
}

void ProgramOutput::tell_dropped() {
  if (dropped_ == 0) return;
  log::warn("mounts", "lines of a storage plugin were dropped, it wrote too many",
            {{"plugin", plugin_}, {"lines", std::exchange(dropped_, 0)}});
}

bool ProgramOutput::read() {
  std::array<char, 16 * 1024> chunk;
  const ssize_t size = ::read(fifo_.get(), chunk.data(), chunk.size());
  if (size <= 0) return false;
  buffer_.append(chunk.data(), static_cast<size_t>(size));
  take_lines();
  return true;
}

void ProgramOutput::take_lines() {
  for (size_t end = 0; (end = buffer_.find('\n')) != buffer_.npos; buffer_.erase(0, end + 1)) {
    if (!std::exchange(is_cut_, false)) log_line(std::string_view(buffer_).substr(0, end));
  }
  if (buffer_.size() <= kMaxLine) return;
  if (!std::exchange(is_cut_, true)) log_line(buffer_);
  buffer_.clear();
}

void ProgramOutput::log_line(std::string_view line) {
  if (!may_log()) return;
  std::string told = secrets_->without(line);
  if (line.size() > kMaxLine) told.resize(told.size() > kCutOff ? told.size() - kCutOff : 0);
  plugin_programs::LogEntry entry = reader_.read(told);
  if (entry.level == log::Level::debug && !has_level(told)) entry.level = level_of_text(told);
  // Once more: what was escaped is as it was now.
  std::vector<log::Field> fields{{"plugin", plugin_}};
  for (const auto& [name, value] : entry.fields) fields.emplace_back(name, secrets_->without(value));
  log::write(entry.level, "mounts", secrets_->without(entry.message), fields);
}

bool ProgramOutput::may_log() {
  const SteadyTime now = clock_.steady();
  if (now - second_began_ >= std::chrono::seconds(1)) {
    tell_dropped();
    second_began_ = now;
    lines_in_second_ = 0;
  }
  if (++lines_in_second_ <= kLinesPerSecond) return true;
  ++dropped_;
  return false;
}

}  // namespace drover::mounts
