#include "store.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "drover/json.h"
#include "drover/messages.h"
#include "drover/read_all.h"
#include "hostpath.pb.h"

namespace drover::hostpath {
namespace {

constexpr uint32_t kFormat = 1;
constexpr const char* kFile = "state.json";
constexpr const char* kNext = "state.json.next";

// Held by this process until it goes.
class FileLock {
 public:
  static Result<FileLock> take(int fd) {
    while (::flock(fd, LOCK_EX) != 0) {
      if (errno != EINTR) return errno_status(errno, "lock the plugin's folder");
    }
    return FileLock(fd);
  }
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock() {
    if (fd_ >= 0) ::flock(fd_, LOCK_UN);
  }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

Status write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return errno_status(errno, std::string("write ") + kNext);
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

}  // namespace

Status Store::open() {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return errno_status(error.value(), folder_);
  handle_ = Fd(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle_) return errno_status(errno, folder_);
  lock_file_ = Fd(::openat(handle_.get(), "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_file_) return errno_status(errno, folder_ + "/lock");
  return read([](const State&) { return ok_status(); });
}

Result<std::string> Store::text() const {
  const std::string path = folder_ + "/" + kFile;
  if (!std::filesystem::exists(path)) return std::string();
  std::ifstream file(path);
  std::string text = read_all(file);
  if (!file || text.empty()) return data_loss(path + ": cannot be read");
  return text;
}

Status Store::load(State& state) const {
  DROVER_TRY(const std::string text, this->text());
  if (text.empty()) {
    state.set_format(kFormat);
    return {};
  }
  const std::string path = folder_ + "/" + kFile;
  if (const Status read = json_to_message(text, state); !read.ok()) return data_loss(path + ": " + read.message());
  if (state.format() != kFormat)
    return data_loss(path + ": is of format " + std::to_string(state.format()) + ", and this plugin reads 1");
  return {};
}

Status Store::save(const State& state) const {
  const Fd file(::openat(handle_.get(), kNext, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno_status(errno, folder_ + "/" + kNext);
  DROVER_RETURN_IF_ERROR(write_all(file.get(), message_to_json(state, {.pretty = true})));
  if (::fsync(file.get()) != 0) return errno_status(errno, folder_ + "/" + kNext);  // the former file still stands
  if (::renameat(handle_.get(), kNext, handle_.get(), kFile) != 0) return errno_status(errno, folder_ + "/" + kFile);
  DROVER_CHECK(::fsync(handle_.get()) == 0);  // nobody knows now which of the two a crash would leave
  return {};
}

Status Store::change(const std::function<Status(State&)>& change) {
  const MutexLock lock(mutex_);
  DROVER_TRY(const FileLock turn, FileLock::take(lock_file_.get()));
  State state;
  DROVER_RETURN_IF_ERROR(load(state));
  const std::string before = serialize(state);
  DROVER_RETURN_IF_ERROR(change(state));
  return serialize(state) == before ? ok_status() : save(state);
}

Status Store::read(const std::function<Status(const State&)>& look) {
  return change([&](State& state) {
    const State& seen = state;
    return look(seen);
  });
}

}  // namespace drover::hostpath
