#include "storage/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace drover::raft {
namespace {

class PosixFile final : public File {
 public:
  PosixFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ~PosixFile() override { ::close(fd_); }

  Status write(uint64_t offset, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno_status(errno, "pwrite " + path_);
      if (n == 0) return errno_status(EIO, "pwrite " + path_);
      offset += static_cast<uint64_t>(n);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return ok_status();
  }

  Result<size_t> read(uint64_t offset, std::span<char> buffer) const override {
    size_t done = 0;
    while (done < buffer.size()) {
      const ssize_t n = ::pread(fd_, buffer.data() + done, buffer.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno_status(errno, "pread " + path_);
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    return done;
  }

  Status sync() override {
    // Not retried on any error: the kernel has dropped the dirty pages and would say yes the second time.
    if (::fdatasync(fd_) != 0) return errno_status(errno, "fdatasync " + path_);
    return ok_status();
  }

  Result<uint64_t> size() const override {
    struct stat info {};
    if (::fstat(fd_, &info) != 0) return errno_status(errno, "fstat " + path_);
    return static_cast<uint64_t>(info.st_size);
  }

 private:
  const int fd_;
  const std::string path_;
};

class PosixLock final : public FileLock {
 public:
  PosixLock(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  PosixLock(const PosixLock&) = delete;
  PosixLock& operator=(const PosixLock&) = delete;
  ~PosixLock() override { ::close(fd_); }

  Status describe(std::string_view text) override {
    if (::ftruncate(fd_, 0) != 0) return errno_status(errno, "ftruncate " + path_);
    if (::pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
      return errno_status(errno, "pwrite " + path_);
    }
    return ok_status();
  }

 private:
  const int fd_;
  const std::string path_;
};

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    int flags = O_CLOEXEC;
    switch (mode) {
      case OpenMode::read:
        flags |= O_RDONLY;
        break;
      case OpenMode::create:
        flags |= O_RDWR | O_CREAT | O_TRUNC;
        break;
      case OpenMode::write:
        flags |= O_RDWR;
        break;
      case OpenMode::write_direct:
        flags |= O_RDWR | O_DIRECT | O_DSYNC;
        break;
    }
    const int fd = ::open(path.c_str(), flags, 0600);
    if (fd < 0) return errno_status(errno, "open " + path);
    return std::unique_ptr<File>(new PosixFile(fd, path));
  }

  Status rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return errno_status(errno, "rename " + from + " to " + to);
    return ok_status();
  }

  Status remove(const std::string& path) override {
    if (::remove(path.c_str()) != 0) return errno_status(errno, "remove " + path);
    return ok_status();
  }

  Status make_directory(const std::string& path) override {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return errno_status(errno, "mkdir " + path);
    return ok_status();
  }

  Status sync_directory(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno_status(errno, "open " + path);
    const int rc = ::fsync(fd);
    const int error = errno;
    ::close(fd);
    return rc == 0 ? ok_status() : errno_status(error, "fsync " + path);
  }

  Result<std::vector<std::string>> list(const std::string& path) override {
    DIR* directory = ::opendir(path.c_str());
    if (directory == nullptr) return errno_status(errno, "opendir " + path);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(directory)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    const int error = errno;
    ::closedir(directory);
    if (error != 0) return errno_status(error, "readdir " + path);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return errno_status(errno, "open " + path);
    auto lock = std::make_unique<PosixLock>(fd, path);
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return errno_status(errno, "flock " + path);
      char holder[256];
      const ssize_t n = ::pread(fd, holder, sizeof holder, 0);
      std::string who(holder, n > 0 ? static_cast<size_t>(n) : 0);
      std::replace(who.begin(), who.end(), '\n', ' ');
      return failed_precondition(path + " is held by another process: " + who + "(stop it, or use another directory)");
    }
    return std::unique_ptr<FileLock>(std::move(lock));
  }

  Result<uint64_t> free_space(const std::string& path) override {
    struct statvfs info {};
    if (::statvfs(path.c_str(), &info) != 0) return errno_status(errno, "statvfs " + path);
    return static_cast<uint64_t>(info.f_bavail) * static_cast<uint64_t>(info.f_frsize);
  }
};

}  // namespace

std::unique_ptr<FileSystem> make_file_system() { return std::make_unique<PosixFileSystem>(); }

void AlignedBuffer::Free::operator()(char* memory) const { std::free(memory); }

char* AlignedBuffer::reset(size_t size) {
  size_ = 0;
  extend(size);
  std::memset(data_.get(), 0, size_);
  return data_.get();
}

void AlignedBuffer::extend(size_t size) {
  size = (size + kBlock - 1) / kBlock * kBlock;
  if (size > capacity_) {
    const size_t capacity = std::max(size, capacity_ + capacity_ / 2 / kBlock * kBlock);
    std::unique_ptr<char, Free> grown(static_cast<char*>(std::aligned_alloc(kBlock, capacity)));
    DROVER_CHECK(grown != nullptr);
    if (size_ > 0) std::memcpy(grown.get(), data_.get(), size_);
    data_ = std::move(grown);
    capacity_ = capacity;
  }
  if (size > size_) {
    std::memset(data_.get() + size_, 0, size - size_);
    size_ = size;
  }
}

}  // namespace drover::raft
