#include "copy_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <vector>

#include "drover/fd.h"

namespace drover::hostpath {
namespace {

constexpr size_t kPiece = size_t{1} << 30;  // bytes of one request to the kernel

Status failed(const std::string& name) { return errno_status(errno, "copy " + name); }

// Where the kernel does not copy between these files itself.
Status copy_by_hand(int from, int to, off_t begin, off_t end, const std::string& name) {
  std::array<char, 64 * 1024> piece{};
  while (begin < end) {
    const size_t wanted = std::min(piece.size(), static_cast<size_t>(end - begin));
    const ssize_t got = ::pread(from, piece.data(), wanted, begin);
    if (got < 0) return failed(name);
    if (got == 0) return {};  // it has become shorter
    if (::pwrite(to, piece.data(), static_cast<size_t>(got), begin) != got) return failed(name);
    begin += got;
  }
  return {};
}

Status copy_range(int from, int to, off_t begin, off_t end, const std::string& name) {
  off_t in = begin, out = begin;
  while (in < end) {
    const size_t wanted = std::min(kPiece, static_cast<size_t>(end - in));
    const ssize_t copied = ::copy_file_range(from, &in, to, &out, wanted, 0);
    if (copied < 0 && errno != EIO && errno != ENOSPC) return copy_by_hand(from, to, in, end, name);
    if (copied < 0) return failed(name);
    if (copied == 0) return {};
  }
  return {};
}

Status copy_content(int from, int to, off_t size, const std::string& name) {
  if (::ioctl(to, FICLONE, from) == 0) return {};
  if (::ftruncate(to, size) != 0) return failed(name);
  off_t at = 0;
  while (at < size) {
    const off_t begin = ::lseek(from, at, SEEK_DATA);
    if (begin < 0 && errno == ENXIO) return {};  // a hole to the end
    if (begin < 0) return copy_range(from, to, at, size, name);
    const off_t hole = ::lseek(from, begin, SEEK_HOLE);
    const off_t end = hole < 0 ? size : std::min(hole, size);
    if (begin >= size) return {};
    DROVER_RETURN_IF_ERROR(copy_range(from, to, begin, end, name));
    at = end;
  }
  return {};
}

Status copy_attributes(int from, int to, const std::string& name) {
  const ssize_t length = ::flistxattr(from, nullptr, 0);
  if (length <= 0) return {};
  std::string names(static_cast<size_t>(length), '\0');
  const ssize_t got = ::flistxattr(from, names.data(), names.size());
  if (got < 0) return failed(name);
  for (size_t at = 0; at < static_cast<size_t>(got);) {
    const char* const attribute = names.c_str() + at;
    at += std::string_view(attribute).size() + 1;
    std::string value(65536, '\0');
    const ssize_t size = ::fgetxattr(from, attribute, value.data(), value.size());
    if (size < 0) continue;  // it has gone
    if (::fsetxattr(to, attribute, value.data(), static_cast<size_t>(size), 0) != 0 && errno != ENOTSUP)
      return failed(name);
  }
  return {};
}

class Copier {
 public:
  Status copy(int from, const std::string& name, int to, const std::string& as) {
    struct stat stat {};
    if (::fstatat(from, name.c_str(), &stat, AT_SYMLINK_NOFOLLOW) != 0) return failed(name);
    if (S_ISDIR(stat.st_mode)) return folder(from, name, to, as);
    if (stat.st_nlink > 1) {
      const auto [former, is_new] = linked_.try_emplace({stat.st_dev, stat.st_ino}, std::make_pair(to, as));
      if (!is_new) return link(former->second, to, as);
      // The folder of the first one must still be open when the next is met.
      former->second.first = kept(to);
    }
    if (S_ISREG(stat.st_mode)) return file(from, name, to, as);
    DROVER_RETURN_IF_ERROR(S_ISLNK(stat.st_mode) ? symbolic(from, name, to, as)
                                                 : made(::mknodat(to, as.c_str(), stat.st_mode, stat.st_rdev), name));
    return dress(to, as, stat, name);
  }

 private:
  using Place = std::pair<int, std::string>;

  static Status made(int result, const std::string& name) { return result == 0 ? ok_status() : failed(name); }

  int kept(int folder) {
    if (folder == AT_FDCWD) return folder;
    folders_.emplace_back(::fcntl(folder, F_DUPFD_CLOEXEC, 3));
    return folders_.back().get();
  }

  static Status link(const Place& first, int to, const std::string& as) {
    return made(::linkat(first.first, first.second.c_str(), to, as.c_str(), 0), as);
  }

  static Status symbolic(int from, const std::string& name, int to, const std::string& as) {
    std::array<char, 4096> target{};
    const ssize_t length = ::readlinkat(from, name.c_str(), target.data(), target.size() - 1);
    if (length < 0) return failed(name);
    return made(::symlinkat(target.data(), to, as.c_str()), name);
  }

  static Status file(int from, const std::string& name, int to, const std::string& as) {
    const Fd in(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const Fd out(::openat(to, as.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    struct stat stat {};
    if (!in || !out || ::fstat(in.get(), &stat) != 0) return failed(name);
    DROVER_RETURN_IF_ERROR(copy_content(in.get(), out.get(), stat.st_size, name));
    DROVER_RETURN_IF_ERROR(copy_attributes(in.get(), out.get(), name));
    return dress(to, as, stat, name);
  }

  Status folder(int from, const std::string& name, int to, const std::string& as) {
    if (::mkdirat(to, as.c_str(), 0700) != 0) return failed(name);
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const Fd in(::openat(from, name.c_str(), kFlags)), out(::openat(to, as.c_str(), kFlags));
    struct stat stat {};
    if (!in || !out || ::fstat(in.get(), &stat) != 0) return failed(name);
    DROVER_RETURN_IF_ERROR(entries(in.get(), out.get(), name));
    DROVER_RETURN_IF_ERROR(copy_attributes(in.get(), out.get(), name));
    return dress(to, as, stat, name);
  }

  Status entries(int in, int out, const std::string& name) {
    const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(::fcntl(in, F_DUPFD_CLOEXEC, 3)), ::closedir);
    if (!list) return failed(name);
    while (const dirent* entry = ::readdir(list.get())) {
      const std::string each = entry->d_name;
      if (each == "." || each == "..") continue;
      DROVER_RETURN_IF_ERROR(copy(in, each, out, each));
    }
    return {};
  }

  // Owner first: a change of it takes bits off the mode.
  static Status dress(int to, const std::string& as, const struct stat& stat, const std::string& name) {
    if (::fchownat(to, as.c_str(), stat.st_uid, stat.st_gid, AT_SYMLINK_NOFOLLOW) != 0) return failed(name);
    if (!S_ISLNK(stat.st_mode) && ::fchmodat(to, as.c_str(), stat.st_mode & 07777, 0) != 0) return failed(name);
    const std::array<timespec, 2> times = {stat.st_atim, stat.st_mtim};
    return made(::utimensat(to, as.c_str(), times.data(), AT_SYMLINK_NOFOLLOW), name);
  }

  std::map<std::pair<dev_t, ino_t>, Place> linked_;
  std::vector<Fd> folders_;
};

}  // namespace

Status copy_tree(const std::string& from, const std::string& to) { return Copier().copy(AT_FDCWD, from, AT_FDCWD, to); }

}  // namespace drover::hostpath
