#include "drover/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "drover/fd.h"

namespace drover {
namespace {

Status write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_status(errno, "write");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return ::fsync(file) == 0 ? ok_status() : errno_status(errno, "fsync");
}

}  // namespace

Status sync_folder(const std::string& folder) {
  const Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened && ::fsync(opened.get()) == 0 ? ok_status() : errno_status(errno, "fsync " + folder);
}

Status write_private_file(const std::string& path, std::string_view content) {
  const std::string beside = path + ".new";
  {
    const Fd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return errno_status(errno, beside);
    if (::fchmod(file.get(), 0600) != 0) return errno_status(errno, beside);
    DROVER_RETURN_IF_ERROR(write_all(file.get(), content).with_context(beside));
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) return errno_status(errno, path);
  return sync_folder(std::filesystem::path(path).parent_path().string());
}

}  // namespace drover
