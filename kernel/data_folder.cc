#include "kernel/data_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace drover {

namespace fs = std::filesystem;

Result<std::string> TemporaryFolder::make() {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string(base && *base ? base : "/tmp") + "/drover-dev-XXXXXX";
  if (!mkdtemp(path.data())) return errno_status(errno, "create " + path);
  return path;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path.empty()) fs::remove_all(path, ignored);
}

Status make_folder(const std::string& path, mode_t mode) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return errno_status(error.value(), "create " + path);
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) return errno_status(errno, "create " + path);
  if (!fs::is_directory(path)) return errno_status(ENOTDIR, "data folder " + path);
  if (::access(path.c_str(), W_OK | X_OK) != 0)
    return errno_status(errno, "data folder " + path + " cannot be written");
  return ok_status();
}

Status check_format(const std::string& data_dir) {
  constexpr int kFormat = 1;
  const std::string path = data_dir + "/format";
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return errno_status(errno, "open " + path);
  std::array<char, 32> text{};
  const ssize_t size = read(fd, text.data(), text.size() - 1);
  Status status;
  if (size == 0) {
    const std::string own = std::to_string(kFormat) + "\n";
    if (write(fd, own.data(), own.size()) != static_cast<ssize_t>(own.size()) || fsync(fd) != 0)
      status = errno_status(errno, "write " + path);
  } else if (const int found = std::atoi(text.data()); found != kFormat) {
    status = failed_precondition("data folder " + data_dir + " has format " + std::to_string(found) +
                                 ", this drover reads format " + std::to_string(kFormat) +
                                 "; run the newer drover, or name another data_dir");
  }
  close(fd);
  return status;
}

}  // namespace drover
