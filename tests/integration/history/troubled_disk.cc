// Preloaded into an agent: makes the disk under its log slow, or lets it fail, on command. The environment variable
// DROVER_TROUBLE names a file that is read at every write; it holds nothing, "slow MILLISECONDS" or "fail ERRNO".
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool is_of_the_log(int fd) {
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  std::array<char, 512> path{};
  const ssize_t size = ::readlink(link.data(), path.data(), path.size() - 1);
  return size > 0 && std::strstr(path.data(), "/server/raft/seg-") != nullptr;
}

// Waits as long as the command says; the error that the call is to end with, or 0.
int trouble(int fd) {
  const char* file = std::getenv("DROVER_TROUBLE");
  if (!file || !is_of_the_log(fd)) return 0;
  const int command = ::open(file, O_RDONLY | O_CLOEXEC);
  if (command < 0) return 0;
  std::array<char, 64> text{};
  const ssize_t size = ::read(command, text.data(), text.size() - 1);
  ::close(command);
  long number = 0;
  if (size <= 0) return 0;
  if (std::sscanf(text.data(), "slow %ld", &number) == 1) {
    const timespec time{.tv_sec = number / 1000, .tv_nsec = number % 1000 * 1'000'000};
    ::nanosleep(&time, nullptr);
  }
  return std::sscanf(text.data(), "fail %ld", &number) == 1 ? static_cast<int>(number) : 0;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

ssize_t write_with(const char* name, int fd, const void* bytes, size_t count, off_t offset) {
  if (const int error = trouble(fd); error != 0) {
    errno = error;
    return -1;
  }
  return next<ssize_t (*)(int, const void*, size_t, off_t)>(name)(fd, bytes, count, offset);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  return write_with("pwrite", fd, bytes, count, offset);
}

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void* bytes, size_t count, off_t offset) {
  return write_with("pwrite64", fd, bytes, count, offset);
}

__attribute__((visibility("default"))) int fdatasync(int fd) {
  if (const int error = trouble(fd); error != 0) {
    errno = error;
    return -1;
  }
  return next<int (*)(int)>("fdatasync")(fd);
}

}  // extern "C"
