#include "log_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace drover::audit {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSecond = 1'000'000'000;

std::string prefix_of(const std::string& path) { return fs::path(path).stem().string() + "-"; }
std::string ending_of(const std::string& path) { return fs::path(path).extension().string(); }

// Numbers with zeros before them: names sort as the files were put away.
std::string padded(uint64_t number, size_t width) {
  std::string text = std::to_string(number);
  return std::string(width > text.size() ? width - text.size() : 0, '0') + text;
}

}  // namespace

std::vector<std::string> outdated(const std::string& path, std::vector<std::string> names, size_t kept) {
  if (kept == 0) return {};
  const std::string prefix = prefix_of(path), ending = ending_of(path);
  std::erase_if(names, [&](const std::string& name) {
    const bool is_ours = name.starts_with(prefix) && name.ends_with(ending) && name.size() > prefix.size() + ending.size();
    return !is_ours || name.find_first_not_of("0123456789-", prefix.size()) < name.size() - ending.size();
  });
  std::ranges::sort(names);
  names.resize(names.size() > kept ? names.size() - kept : 0);
  return names;
}

Status LogFile::open() {
  std::error_code error;
  const fs::path folder = fs::path(options_.path).parent_path();
  if (!fs::exists(folder, error)) {
    fs::create_directories(folder, error);
    if (!error) fs::permissions(folder, fs::perms::owner_all, error);
    if (error) return errno_status(error.value(), "make " + folder.string());
  }
  const MutexLock lock(mutex_);
  return open_anew();
}

Status LogFile::open_anew() {
  file_ = Fd(::open(options_.path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, options_.mode));
  struct stat found {};
  if (!file_ || ::fstat(file_.get(), &found) != 0) return errno_status(errno, "open " + options_.path);
  size_ = static_cast<uint64_t>(found.st_size);
  // A file of a former life is as old as its last line at least.
  begun_at_ = size_ > 0 ? int64_t{found.st_mtim.tv_sec} * kSecond : clock_.wall_ns();
  return ok_status();
}

bool LogFile::is_full(size_t more) const {
  const bool is_large = options_.rotate_bytes > 0 && size_ > 0 && size_ + more > options_.rotate_bytes;
  const bool is_old = options_.rotate_after.count() > 0 && size_ > 0 &&
                      clock_.wall_ns() - begun_at_ >= options_.rotate_after.count();
  return is_large || is_old;
}

Status LogFile::put_away() {
  const fs::path path(options_.path);
  const std::string name = prefix_of(path) + padded(static_cast<uint64_t>(clock_.wall_ns() / kSecond), 12) + "-" +
                           padded(++number_, 6) + ending_of(path);
  // Somebody else may have moved it, or deleted it: a new one is begun then.
  if (::rename(path.c_str(), (path.parent_path() / name).c_str()) != 0 && errno != ENOENT)
    return errno_status(errno, "put " + path.string() + " away");
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path.parent_path(), error)) names.push_back(entry.path().filename());
  for (const std::string& old : outdated(path, std::move(names), options_.kept))
    fs::remove(path.parent_path() / old, error);
  return open_anew();
}

Status LogFile::add(std::string_view line) {
  const MutexLock lock(mutex_);
  if (!file_) DROVER_RETURN_IF_ERROR(open_anew());
  // A file that cannot be put away grows on; its entries count more than its size.
  const Status put = is_full(line.size()) ? put_away() : ok_status();
  if (!file_) return put;
  const ssize_t written = ::write(file_.get(), line.data(), line.size());
  if (written < 0) return errno_status(errno, "write " + options_.path);
  size_ += static_cast<uint64_t>(written);
  if (static_cast<size_t>(written) == line.size()) return put;
  // A full disk: half a line would hide the next one.
  size_ -= static_cast<uint64_t>(written);
  (void)::ftruncate(file_.get(), static_cast<off_t>(size_));
  return resource_exhausted("write " + options_.path + ": no space is left");
}

}  // namespace drover::audit
