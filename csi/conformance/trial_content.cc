#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fstream>

#include "drover/fd.h"
#include "drover/mounts.h"
#include "drover/read_all.h"
#include "trial.h"

namespace drover::csi_kit {
namespace {

constexpr size_t kBytes = 4096;

std::string path_of(const std::string& target, bool is_block) {
  return is_block ? target : target + "/drover-csi-test";
}

}  // namespace

Status write_content(const std::string& target, bool is_block, const std::string& text) {
  const std::string path = path_of(target, is_block);
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | (is_block ? 0 : O_CREAT), 0600));
  if (!file) return errno_status(errno, "open " + path);
  std::string bytes = text;
  bytes.resize(kBytes);
  if (::pwrite(file.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return errno_status(errno, "write " + path);
  return ::fsync(file.get()) == 0 ? ok_status() : errno_status(errno, "fsync " + path);
}

Result<std::string> read_content(const std::string& target, bool is_block) {
  const std::string path = path_of(target, is_block);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno_status(errno, "open " + path);
  if (is_block) (void)::ioctl(file.get(), BLKFLSBUF, 0);  // another device may have written it
  std::string bytes(kBytes, '\0');
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) return errno_status(errno, "read " + path);
  bytes.resize(static_cast<size_t>(got));
  return bytes.substr(0, bytes.find('\0'));
}

std::vector<std::string> mounts_below(const std::string& folder) {
  std::ifstream file("/proc/self/mountinfo");
  std::vector<std::string> found;
  for (const MountPoint& each : parse_mountinfo(read_all(file))) {
    if (each.path.starts_with(folder + "/")) found.insert(found.begin(), each.path);
  }
  return found;
}

}  // namespace drover::csi_kit
