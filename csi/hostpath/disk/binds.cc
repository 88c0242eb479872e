#include "binds.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <string_view>

#include "drover/fd.h"

namespace drover::hostpath {
namespace {

std::string by_descriptor(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

bool is_same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return ::lstat(a.c_str(), &first) == 0 && ::lstat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// The last part of neither path may be a link, and none can be put in its place meanwhile.
Status mount_there(const std::string& source, const std::string& target) {
  constexpr int kFlags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  const Fd from(::open(source.c_str(), kFlags)), to(::open(target.c_str(), kFlags));
  if (!from) return errno_status(errno, source);
  if (!to) return failed_precondition(target + ": " + errno_status(errno, "open").message());
  struct stat stat {};
  if (::fstat(to.get(), &stat) != 0 || S_ISLNK(stat.st_mode)) return failed_precondition(target + ": is a link");
  if (::mount(by_descriptor(from).c_str(), by_descriptor(to).c_str(), nullptr, MS_BIND, nullptr) != 0)
    return errno_status(errno, "mount at " + target);
  return {};
}

}  // namespace

unsigned long mount_flags_of(const google::protobuf::RepeatedPtrField<std::string>& words, bool read_only) {
  static const std::map<std::string_view, unsigned long> kWords = {{"ro", MS_RDONLY},
                                                                   {"rw", 0},
                                                                   {"noexec", MS_NOEXEC},
                                                                   {"nosuid", MS_NOSUID},
                                                                   {"nodev", MS_NODEV},
                                                                   {"noatime", MS_NOATIME},
                                                                   {"nodiratime", MS_NODIRATIME},
                                                                   {"relatime", MS_RELATIME}};
  unsigned long flags = read_only ? MS_RDONLY : 0;
  for (const std::string& word : words) flags |= kWords.at(word);
  return flags;
}

bool is_mount(const std::string& path) {
  struct statx stat {};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &stat) != 0)
    return false;
  return (stat.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

Status bind_mount(const std::string& source, const std::string& target, unsigned long flags) {
  if (is_mount(target)) {
    if (!is_same_file(source, target)) return failed_precondition(target + ": something else is mounted there");
  } else {
    DROVER_RETURN_IF_ERROR(mount_there(source, target));
  }
  // Again when it was there already: a crash may have come between the two.
  if (flags == 0 || ::mount(nullptr, target.c_str(), nullptr, MS_REMOUNT | MS_BIND | flags, nullptr) == 0) return {};
  const Status why = errno_status(errno, "set the flags of the mount at " + target);
  (void)unbind(target);  // never more open than was asked
  return why;
}

Status unbind(const std::string& target) {
  while (is_mount(target)) {
    if (::umount2(target.c_str(), UMOUNT_NOFOLLOW) == 0) continue;
    if (errno == EBUSY) return failed_precondition(target + ": is still in use");
    return errno_status(errno, "unmount " + target);
  }
  return {};
}

Status make_target(const std::string& target, bool is_file) {
  if (is_file) {
    const Fd file(::open(target.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!file && !is_mount(target)) return failed_precondition(errno_status(errno, target).message());
    return {};
  }
  if (::mkdir(target.c_str(), 0750) == 0 || errno == EEXIST) return {};
  return failed_precondition(errno_status(errno, target).message());
}

Status remove_target(const std::string& target) {
  struct stat stat {};
  if (::lstat(target.c_str(), &stat) != 0) return errno == ENOENT ? ok_status() : errno_status(errno, target);
  const bool is_folder = S_ISDIR(stat.st_mode);
  if ((is_folder ? ::rmdir(target.c_str()) : ::unlink(target.c_str())) == 0 || errno == ENOENT) return {};
  if (errno == ENOTEMPTY) return failed_precondition(target + ": is not empty");
  return errno_status(errno, target);
}

}  // namespace drover::hostpath
