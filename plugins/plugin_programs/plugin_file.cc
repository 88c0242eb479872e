#include "plugin_file.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "drover/sha256.h"

namespace drover::plugin_programs {
namespace {

Status check(const std::string& path, const struct stat& found) {
  if (!S_ISREG(found.st_mode)) return failed_precondition("plugin " + path + " is not a regular file");
  if ((found.st_mode & S_IXUSR) == 0)
    return failed_precondition("plugin " + path + " is not executable: chmod u+x " + path);
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return permission_denied("plugin " + path + " can be changed by its group or by others: chmod go-w " + path);
  }
  if (found.st_uid != 0 && found.st_uid != ::geteuid()) {
    return permission_denied("plugin " + path + " belongs to user " + std::to_string(found.st_uid) +
                             ", expected root or the agent's user " + std::to_string(::geteuid()));
  }
  return ok_status();
}

}  // namespace

Status check_file(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return errno_status(errno, "plugin " + path);
  return check(path, found);
}

Result<std::shared_ptr<const PluginFile>> PluginFile::open(const std::string& path,
                                                           const std::vector<std::string>& digests) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno_status(errno, "plugin " + path);
  std::shared_ptr<PluginFile> file(new PluginFile(path, fd));
  struct stat found {};
  if (::fstat(fd, &found) != 0) return errno_status(errno, "plugin " + path);
  DROVER_RETURN_IF_ERROR(check(path, found));
  auto digest = check_digest(fd, digests);
  if (!digest) return digest.status().with_context("plugin " + path);
  file->digest_ = *std::move(digest);
  return std::shared_ptr<const PluginFile>(std::move(file));
}

PluginFile::~PluginFile() { ::close(fd_); }

Status PluginFile::copy_to(const std::string& path) const {
  struct stat found {};
  if (::fstat(fd_, &found) != 0) return errno_status(errno, path_);
  (void)::unlink(path.c_str());
  const int out = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (out < 0) return errno_status(errno, "write " + path);
  const auto copy = [&]() -> Status {
    off_t at = 0;
    while (at < found.st_size) {
      const ssize_t sent = ::sendfile(out, fd_, &at, static_cast<size_t>(found.st_size - at));
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return errno_status(errno, "write " + path);
      if (sent == 0) return failed_precondition(path_ + " became shorter while it was read");
    }
    if (::fchmod(out, found.st_mode & 0777) != 0 || ::fsync(out) != 0) return errno_status(errno, "write " + path);
    return ok_status();
  };
  Status status = copy();
  if (::close(out) != 0 && status.ok()) status = errno_status(errno, "write " + path);
  if (!status.ok()) (void)::unlink(path.c_str());
  return status;
}

}  // namespace drover::plugin_programs
