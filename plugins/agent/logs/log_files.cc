#include "logs/log_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace drover::agent {
namespace {

// Takes so much out of the pipe.
void drop(int pipe, size_t size) {
  std::array<char, 4096> gone{};
  while (size > 0) {
    const ssize_t got = ::read(pipe, gone.data(), std::min(size, gone.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    size -= static_cast<size_t>(got);
  }
}

}  // namespace

size_t fit_into_log(uint64_t size, uint64_t limit, std::string_view data, bool at_line_start) {
  const uint64_t room = size < limit ? limit - size : 0;
  if (data.size() <= room) return data.size();
  const auto fits = static_cast<size_t>(room);
  const std::string_view head = data.substr(0, fits);
  const size_t line_end = head.rfind('\n');
  if (line_end != std::string_view::npos && fits - line_end <= kLogLookBack) return line_end + 1;
  // The line begins where the file ends now: moving it whole to the next file breaks nothing.
  if (line_end == std::string_view::npos && at_line_start && size > 0 && fits <= kLogLookBack) return 0;
  return fits;
}

std::optional<LogPosition> locate_log_offset(std::span<const LogExtent> files, bool from_end, uint64_t offset) {
  if (files.empty()) return std::nullopt;
  uint64_t total = 0;
  for (const LogExtent& file : files) total += file.size;
  uint64_t left = from_end ? total - std::min(offset, total) : std::min(offset, total);
  for (const LogExtent& file : files) {
    // A position between two files is the beginning of the later one.
    if (left < file.size || &file == &files.back()) return LogPosition{file.number, left};
    left -= file.size;
  }
  return std::nullopt;
}

std::string log_file_name(const std::string& base, uint64_t number) { return base + "." + std::to_string(number); }

std::vector<LogExtent> list_log_files(const std::string& folder, const std::string& base) {
  std::vector<LogExtent> files;
  DIR* open = ::opendir(folder.c_str());
  if (!open) return files;
  while (const dirent* entry = ::readdir(open)) {
    const std::string_view name = entry->d_name;
    if (name.size() <= base.size() + 1 || !name.starts_with(base) || name[base.size()] != '.') continue;
    const std::string_view digits = name.substr(base.size() + 1);
    LogExtent file{};
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), file.number);
    struct stat found {};
    if (error != std::errc() || end != digits.data() + digits.size()) continue;
    if (::fstatat(::dirfd(open), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(found.st_mode)) continue;
    file.size = static_cast<uint64_t>(found.st_size);
    files.push_back(file);
  }
  ::closedir(open);
  std::ranges::sort(files, {}, &LogExtent::number);
  return files;
}

LogWriter::LogWriter(std::string folder, std::string base, Limits limits)
    : folder_(std::move(folder)), base_(std::move(base)), limits_(limits) {}

LogWriter::LogWriter(LogWriter&& other) noexcept
    : folder_(std::move(other.folder_)),
      base_(std::move(other.base_)),
      limits_(other.limits_),
      fd_(std::exchange(other.fd_, -1)),
      number_(other.number_),
      size_(other.size_),
      at_line_start_(other.at_line_start_) {}

LogWriter::~LogWriter() {
  if (fd_ >= 0) ::close(fd_);
}

Result<LogWriter> LogWriter::open(const std::string& folder, const std::string& base, Limits limits) {
  LogWriter writer(folder, base, limits);
  const std::vector<LogExtent> files = list_log_files(folder, base);
  DROVER_RETURN_IF_ERROR(writer.open_file(files.empty() ? 0 : files.back().number));
  return writer;
}

Status LogWriter::open_file(uint64_t number) {
  const std::string path = folder_ + "/" + log_file_name(base_, number);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return errno_status(errno, "open " + path);
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
  number_ = number;
  const off_t end = ::lseek(fd_, 0, SEEK_END);
  size_ = end > 0 ? static_cast<uint64_t>(end) : 0;
  char last = '\n';
  at_line_start_ = end <= 0 || (::pread(fd_, &last, 1, end - 1) == 1 && last == '\n');
  return ok_status();
}

Result<size_t> LogWriter::write_some(std::string_view data, int pipe) {
  for (;;) {
    const off_t begin = ::lseek(fd_, 0, SEEK_END);
    off_t end = begin;
    ssize_t wrote = pipe < 0 ? -1 : ::splice(pipe, nullptr, fd_, &end, data.size(), SPLICE_F_NONBLOCK);
    if (pipe < 0 || (wrote < 0 && errno == EINVAL)) {
      wrote = ::pwrite(fd_, data.data(), data.size(), begin);
      if (pipe >= 0 && wrote > 0) drop(pipe, static_cast<size_t>(wrote));
    }
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) return size_t{0};
    if (wrote < 0) return errno_status(errno, "write " + folder_ + "/" + log_file_name(base_, number_));
    size_ = static_cast<uint64_t>(begin + wrote);
    if (wrote > 0) at_line_start_ = data[static_cast<size_t>(wrote) - 1] == '\n';
    return static_cast<size_t>(wrote);
  }
}

Status LogWriter::append(std::string_view data) { return put(data, -1); }

Status LogWriter::take(int pipe, std::string_view data) {
  const Status status = put(data, pipe);
  if (!status.ok()) drop(pipe, data.size());
  return status;
}

Status LogWriter::put(std::string_view& data, int pipe) {
  while (!data.empty()) {
    for (size_t fits = fit_into_log(size_, limits_.bytes, data, at_line_start_); fits > 0;) {
      DROVER_TRY(const size_t wrote, write_some(data.substr(0, fits), pipe));
      if (wrote == 0) return ok_status();  // the pipe has less: somebody else has read from it
      data.remove_prefix(wrote);
      fits -= wrote;
    }
    if (data.empty()) break;
    DROVER_RETURN_IF_ERROR(open_file(number_ + 1));
    const std::vector<LogExtent> files = list_log_files(folder_, base_);
    for (size_t i = 0; i + limits_.files < files.size(); ++i) {
      ::unlink((folder_ + "/" + log_file_name(base_, files[i].number)).c_str());
    }
  }
  return ok_status();
}

}  // namespace drover::agent
