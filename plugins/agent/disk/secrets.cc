#include "disk/secrets.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>

#include "disk/mounts.h"
#include "drover/log.h"
#include "drover/open_below.h"

namespace drover::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = "drover-secrets";  // in the machine's list of mounts

bool is_in_memory(const Fd& folder) {
  struct statx found {};
  struct statfs system {};
  return folder && ::statx(folder.get(), "", AT_EMPTY_PATH, STATX_TYPE, &found) == 0 &&
         (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 && ::fstatfs(folder.get(), &system) == 0 &&
         system.f_type == TMPFS_MAGIC;
}

bool set(const Fd& system, const char* name, const std::string& value) {
  return ::fsconfig(system.get(), FSCONFIG_SET_STRING, name, value.c_str(), 0) == 0;
}

// Mounted nowhere yet. Invalid: errno says why.
Fd make_memory(const SecretsMount& wanted) {
  Fd system(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!system || !set(system, "source", kSource) || !set(system, "size", std::to_string(wanted.size_mb) + "m") ||
      !set(system, "mode", wanted.is_open ? "0777" : "0700"))
    return {};
  // Older kernels do not know it: there a secret may reach the machine's swap.
  (void)::fsconfig(system.get(), FSCONFIG_SET_FLAG, "noswap", nullptr, 0);
  if (::fsconfig(system.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  return Fd(::fsmount(system.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC));
}

// The agent mounts at two places of a task's folder: at "alloc" and at "secrets".
bool is_place_of_ours(const fs::path& below) {
  const fs::path name = below.filename();
  return std::distance(below.begin(), below.end()) == 2 && (name == "alloc" || name == "secrets");
}

// Secrets must be gone from memory; who still has the shared folder open may keep it.
int unmount(const std::string& path) {
  const bool is_shared = fs::path(path).filename() == "alloc";
  return ::umount2(path.c_str(), UMOUNT_NOFOLLOW | (is_shared ? MNT_DETACH : 0));
}

}  // namespace

Fd open_secrets(const AllocFolders& alloc, const TaskFolders& task) {
  const Fd root(::open(alloc.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return open_below(root, fs::path(task.secrets).lexically_relative(alloc.root), O_PATH | O_DIRECTORY,
                    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

Status mount_secrets(const AllocFolders& alloc, const TaskFolders& task, const SecretsMount& wanted) {
  const auto failed = [&](const char* doing) { return errno_status(errno, std::string(doing) + " " + task.secrets); };
  const Fd folder = open_secrets(alloc, task);
  if (!folder) return failed("open");
  if (is_in_memory(folder)) return ok_status();
  const Fd memory = make_memory(wanted);
  if (!memory) return failed("make memory for");
  const Fd marker(::openat(memory.get(), kSecretsMarker, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!marker) return failed("mark");
  if (wanted.owner && ::fchownat(memory.get(), "", wanted.owner->id, wanted.owner->group, AT_EMPTY_PATH) != 0)
    return failed("set the owner of");
  const unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
  return ::move_mount(memory.get(), "", folder.get(), "", flags) == 0 ? ok_status() : failed("mount memory at");
}

Status open_to_all(const TaskFolders& task) {
  if (::chmod(task.root.c_str(), 0700) != 0 || (::geteuid() == 0 && ::chown(task.root.c_str(), 0, 0) != 0))
    return errno_status(errno, "close " + task.root);
  return ::chmod(task.secrets.c_str(), 0777) == 0 ? ok_status() : errno_status(errno, "open " + task.secrets);
}

bool are_in_memory(const AllocFolders& alloc, const TaskFolders& task) {
  return is_in_memory(open_secrets(alloc, task));
}

std::vector<std::string> stray_mounts(const std::vector<MountPoint>& mounts, const std::string& alloc_dir,
                                      const std::set<Uuid>& known) {
  std::vector<std::string> strays;
  for (auto mount = mounts.rbegin(); mount != mounts.rend(); ++mount) {
    const fs::path below = fs::path(mount->path).lexically_relative(alloc_dir);
    if (below.empty() || !is_place_of_ours(below.lexically_relative(*below.begin()))) continue;
    const auto id = Uuid::parse(below.begin()->string());
    if (id && !known.contains(*id)) strays.push_back(mount->path);
  }
  return strays;
}

void unmount_strays(const std::string& alloc_dir, const std::set<Uuid>& known) {
  const auto mounts = mounts_below(alloc_dir);
  std::error_code none;
  for (const std::string& path : stray_mounts(mounts.value_or({}), fs::weakly_canonical(alloc_dir, none), known)) {
    const Status status = unmount(path) == 0 ? ok_status() : errno_status(errno, "unmount");
    log::write(status.ok() ? log::Level::info : log::Level::warn, "agent", "a mount of an allocation that is gone",
               {{"path", path}, {"error", status.message()}});
  }
}

Status unmount_all(const AllocFolders& alloc) {
  DROVER_TRY(const std::vector<MountPoint> mounts, mounts_below(alloc.root));
  std::error_code none;
  const fs::path root = fs::weakly_canonical(alloc.root, none);
  for (auto mount = mounts.rbegin(); mount != mounts.rend(); ++mount) {
    if (!is_place_of_ours(fs::path(mount->path).lexically_relative(root)))
      return failed_precondition("something is mounted at " + mount->path + ": unmount it");
    if (unmount(mount->path) != 0) return errno_status(errno, "unmount " + mount->path);
  }
  return ok_status();
}

}  // namespace drover::agent
