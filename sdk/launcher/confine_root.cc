// The root of a confined process, by descriptors: what lies in there may have been laid by somebody who wants out.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <vector>

#include "confine.h"
#include "drover/open_below.h"

namespace drover::launcher {
namespace {

constexpr mode_t kFolderMode = 0755, kFileMode = 0644;

Confined failed(std::string step) { return ConfineFailure{errno, std::move(step)}; }

uint64_t attributes_of(uint32_t flags) {
  uint64_t attributes = 0;
  if ((flags & Confinement::read_only) != 0) attributes |= MOUNT_ATTR_RDONLY;
  if ((flags & Confinement::no_setuid) != 0) attributes |= MOUNT_ATTR_NOSUID;
  if ((flags & Confinement::no_devices) != 0) attributes |= MOUNT_ATTR_NODEV;
  if ((flags & Confinement::no_programs) != 0) attributes |= MOUNT_ATTR_NOEXEC;
  return attributes;
}

uint64_t propagation_of(Confinement::Propagation propagation) {
  switch (propagation) {
    case Confinement::Propagation::from_machine:
      return MS_SLAVE;
    case Confinement::Propagation::both:
      return MS_SHARED;
    default:
      return MS_PRIVATE;
  }
}

// A copy of what is mounted at `path`, nowhere in sight yet.
Fd copy_tree(int at, const char* path, int flags) {
  return Fd(open_tree(at, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | flags));
}

bool show(const Fd& tree, const Fd& at) {
  return move_mount(tree.get(), "", at.get(), "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == 0;
}

Fd make_file_system(const char* type, std::string_view options, uint64_t attributes) {
  const Fd made(fsopen(type, FSOPEN_CLOEXEC));
  if (!made) return {};
  while (!options.empty()) {
    const size_t end = std::min(options.find(','), options.size());
    const std::string option(options.substr(0, end));
    options.remove_prefix(std::min(end + 1, options.size()));
    const size_t equals = option.find('=');
    const bool is_flag = equals == std::string::npos;
    if (fsconfig(made.get(), is_flag ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING, option.substr(0, equals).c_str(),
                 is_flag ? nullptr : option.c_str() + equals + 1, 0) != 0)
      return {};
  }
  if (fsconfig(made.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  return Fd(fsmount(made.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
}

// The new root, and what is found and made in there.
class Root {
 public:
  explicit Root(const Confinement::Root& wanted) : wanted_(wanted) {}

  Confined enter() {
    umask(0);
    for (const auto step :
         {&Root::copy_sources, &Root::open, &Root::make_files, &Root::mount_all, &Root::make_devices, &Root::make_links,
          &Root::show_files, &Root::hide, &Root::forbid_writing, &Root::leave_old}) {
      if (Confined failure = (this->*step)()) return failure;
    }
    return {};
  }

 private:
  enum class Links : uint8_t { followed, refused };
  enum class Kind : uint8_t { folder, file };

  Fd find(const std::string& path, Links links, int flags = O_PATH) const {
    const uint64_t refused = links == Links::refused ? RESOLVE_NO_SYMLINKS : 0;
    return open_below(root_, "./" + path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS | refused);
  }

  // Makes what is missing. On errors errno says why.
  Fd find_or_make(const std::string& path, Links links, Kind kind) const {
    Fd found = find(path, links);
    if (found || errno != ENOENT) return found;
    const size_t slash = path.find_last_not_of('/') == std::string::npos ? std::string::npos
                                                                         : path.rfind('/', path.find_last_not_of('/'));
    const bool is_top = slash == std::string::npos || slash == 0;
    const Fd parent = is_top ? find("/", links) : find_or_make(path.substr(0, slash), links, Kind::folder);
    if (!parent) return {};
    const std::string name = name_of(path);
    const int made = kind == Kind::folder ? mkdirat(parent.get(), name.c_str(), kFolderMode)
                                          : mknodat(parent.get(), name.c_str(), S_IFREG | kFileMode, 0);
    if (made != 0 && errno != EEXIST) return {};
    return find(path, links);
  }
  Fd parent_of(const std::string& path) const {
    const size_t slash = path.rfind('/');
    const bool is_top = slash == std::string::npos || slash == 0;
    return find_or_make(is_top ? "/" : path.substr(0, slash), Links::refused, Kind::folder);
  }
  static std::string name_of(const std::string& path) {
    const size_t end = path.find_last_not_of('/') + 1;
    const size_t slash = path.rfind('/', end - 1);
    return slash == std::string::npos ? path.substr(0, end) : path.substr(slash + 1, end - slash - 1);
  }

  // Before anything changes: what is shared with the machine's mounts stays so, and paths are the machine's.
  Confined copy_sources() {
    for (const Confinement::Mount& mount : wanted_.mounts) {
      sources_.push_back(mount.type.empty() ? copy_tree(AT_FDCWD, mount.source.c_str(), 0) : Fd());
      if (mount.type.empty() && !sources_.back()) return failed("mount " + mount.source);
    }
    return {};
  }

  Confined open() {
    // Mounts that the machine makes from now on are seen where they are wanted; nothing goes back.
    if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return failed("separate the mounts");
    const char* const folder = wanted_.folder.c_str();
    root_ = copy_tree(AT_FDCWD, folder, AT_SYMLINK_NOFOLLOW);
    if (!root_ || move_mount(root_.get(), "", AT_FDCWD, folder, MOVE_MOUNT_F_EMPTY_PATH) != 0)
      return failed("mount the root " + wanted_.folder);
    return {};
  }

  // A mount is copied only where it can be seen: on top of the root, for a moment.
  Confined make_files() {
    if (wanted_.files.empty()) return {};
    const Fd disk = make_file_system("tmpfs", "mode=755", MOUNT_ATTR_NODEV | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
    if (!disk || !show(disk, root_)) return failed("make files");
    for (size_t i = 0; i < wanted_.files.size(); ++i) {
      const std::string name = std::to_string(i), &content = wanted_.files[i].content;
      const Fd file(openat(disk.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
      if (!file || write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()))
        return failed("make the file " + wanted_.files[i].target);
      files_.push_back(copy_tree(disk.get(), name.c_str(), 0));
      if (!files_.back() || !set_attributes(files_.back(), MOUNT_ATTR_RDONLY, MS_PRIVATE, 0))
        return failed("make the file " + wanted_.files[i].target);
    }
    if (fchdir(disk.get()) != 0 || umount2(".", MNT_DETACH) != 0) return failed("make files");
    return {};
  }

  static bool set_attributes(const Fd& tree, uint64_t attributes, uint64_t propagation, unsigned flags) {
    mount_attr wanted{};
    wanted.attr_set = attributes;
    wanted.propagation = propagation;
    return mount_setattr(tree.get(), "", AT_EMPTY_PATH | flags, &wanted, sizeof wanted) == 0;
  }

  Confined mount_all() {
    for (size_t i = 0; i < wanted_.mounts.size(); ++i) {
      const Confinement::Mount& mount = wanted_.mounts[i];
      const bool is_shown = mount.type.empty();
      const std::string step = "mount " + (is_shown ? mount.source : mount.type) + " at " + mount.target;
      const uint64_t attributes = attributes_of(mount.flags);
      Fd tree = is_shown ? std::move(sources_[i]) : make_file_system(mount.type.c_str(), mount.options, attributes);
      if (!tree) return failed(step);
      Kind kind = Kind::folder;
      if (is_shown) {
        if (!set_attributes(tree, attributes, propagation_of(mount.propagation), AT_RECURSIVE)) return failed(step);
        struct stat found {};
        if (fstat(tree.get(), &found) == 0 && !S_ISDIR(found.st_mode)) kind = Kind::file;
      }
      const Fd target = find_or_make(mount.target, is_shown ? Links::followed : Links::refused, kind);
      if (!target || !show(tree, target)) return failed(step);
    }
    return {};
  }

  Confined make_devices() {
    for (const Confinement::Device& device : wanted_.devices) {
      const Fd parent = parent_of(device.target);
      const std::string name = name_of(device.target), step = "make the device " + device.target;
      const mode_t mode = (device.is_block ? S_IFBLK : S_IFCHR) | (device.mode & 07777U);
      const dev_t number = makedev(device.major, device.minor);
      if (!parent) return failed(step);
      if (mknodat(parent.get(), name.c_str(), mode, number) != 0) {
        const int error = errno;
        struct stat found {};
        const bool is_same = error == EEXIST && fstatat(parent.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
                             (found.st_mode & S_IFMT) == (mode & S_IFMT) && found.st_rdev == number;
        if (is_same) continue;
        errno = error;
        return failed(step);
      }
      if (fchownat(parent.get(), name.c_str(), device.user, device.group, AT_SYMLINK_NOFOLLOW) != 0)
        return failed(step);
    }
    return {};
  }

  Confined make_links() {
    for (const Confinement::Link& link : wanted_.links) {
      const Fd parent = parent_of(link.target);
      if (!parent || (symlinkat(link.to.c_str(), parent.get(), name_of(link.target).c_str()) != 0 && errno != EEXIST))
        return failed("make the link " + link.target);
    }
    return {};
  }

  Confined show_files() {
    for (size_t i = 0; i < files_.size(); ++i) {
      const std::string& path = wanted_.files[i].target;
      const Fd target = find_or_make(path, Links::followed, Kind::file);
      if (!target || !show(files_[i], target)) return failed("show the file " + path);
    }
    return {};
  }

  Confined hide() {
    for (const std::string& path : wanted_.hidden) {
      const Fd target = find(path, Links::refused);
      if (!target && errno == ENOENT) continue;
      struct stat found {};
      if (!target || fstat(target.get(), &found) != 0) return failed("hide " + path);
      const Fd cover = S_ISDIR(found.st_mode) ? make_file_system("tmpfs", "mode=555", MOUNT_ATTR_RDONLY)
                                              : copy_tree(AT_FDCWD, "/dev/null", 0);
      if (!cover || !show(cover, target)) return failed("hide " + path);
    }
    return {};
  }

  Confined forbid_writing() {
    for (const std::string& path : wanted_.not_writable) {
      const Fd target = find(path, Links::refused);
      if (!target && errno == ENOENT) continue;
      const Fd tree = target ? copy_tree(target.get(), "", AT_EMPTY_PATH) : Fd();
      if (!tree || !set_attributes(tree, MOUNT_ATTR_RDONLY, 0, 0) || !show(tree, target))
        return failed("forbid writing below " + path);
    }
    return {};
  }

  Confined leave_old() {
    if (fchdir(root_.get()) != 0) return failed("enter the root");
    if (wanted_.is_pivoted) {
      // The old root lies on top of the new one for a moment, and is then taken off with all that is mounted in it.
      if (syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0) return failed("change the root");
    } else if (mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 || chroot(".") != 0) {
      return failed("move the root");
    }
    return chdir("/") == 0 ? Confined() : failed("enter the root");
  }

  const Confinement::Root& wanted_;
  Fd root_;
  std::vector<Fd> sources_;  // one for each mount; empty for file systems
  std::vector<Fd> files_;
};

}  // namespace

Confined enter_root(const Confinement::Root& root) { return Root(root).enter(); }

}  // namespace drover::launcher
