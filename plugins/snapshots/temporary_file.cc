#include "temporary_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace drover::snapshots {

Result<std::unique_ptr<TemporaryFile>> TemporaryFile::create(const std::string& folder) {
  int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {  // not every file system has nameless files
    std::string name = folder + "/snapshot-XXXXXX";
    file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file >= 0) ::unlink(name.c_str());
  }
  if (file < 0) return errno_status(errno, "a temporary file in " + folder);
  return std::unique_ptr<TemporaryFile>(new TemporaryFile(file));
}

TemporaryFile::~TemporaryFile() { ::close(file_); }

Status TemporaryFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_status(errno, "write a temporary file");
    bytes.remove_prefix(static_cast<size_t>(n));
    size_ += static_cast<uint64_t>(n);
  }
  return ok_status();
}

Result<size_t> TemporaryFile::read(std::span<char> buffer) {
  ssize_t n = 0;
  do {
    n = ::pread(file_, buffer.data(), buffer.size(), static_cast<off_t>(read_at_));
  } while (n < 0 && errno == EINTR);
  if (n < 0) return errno_status(errno, "read a temporary file");
  read_at_ += static_cast<uint64_t>(n);
  return static_cast<size_t>(n);
}

}  // namespace drover::snapshots
