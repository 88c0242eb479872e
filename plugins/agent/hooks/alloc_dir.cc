#include "alloc_dir.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "disk/secrets.h"

namespace drover::agent {
namespace {

constexpr uid_t kNobody = 65534;

enum class Owner : uint8_t { agent, nobody };

// A folder without any rights was begun and not finished: the agent ended in between.
constexpr mode_t kUnfinished = 0;

// `owner` counts where the agent is root. Through a descriptor: a task that runs may put something else in its place.
Status finish_folder(const std::string& path, int folder, mode_t mode, Owner owner) {
  if (owner == Owner::nobody && ::geteuid() == 0 && ::fchownat(folder, "", kNobody, kNobody, AT_EMPTY_PATH) != 0)
    return errno_status(errno, "set the owner of " + path);
  // The process's umask must not narrow what tasks of other users need.
  const std::string opened = "/proc/self/fd/" + std::to_string(folder);
  return ::chmod(opened.c_str(), mode) == 0 ? ok_status() : errno_status(errno, "set the mode of " + path);
}

Status make_folder(const std::string& path, mode_t mode, Owner owner = Owner::agent) {
  if (::mkdir(path.c_str(), kUnfinished) != 0 && errno != EEXIST) return errno_status(errno, "create " + path);
  const int folder = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat found {};
  if (folder < 0 || ::fstat(folder, &found) != 0) {
    const Status failed = errno_status(errno, "create " + path);
    if (folder >= 0) ::close(folder);
    return failed;
  }
  const bool is_finished = (found.st_mode & 07777) != kUnfinished;
  const Status status = is_finished ? ok_status() : finish_folder(path, folder, mode, owner);
  ::close(folder);
  return status;
}

bool is_same_folder(const std::string& one, const std::string& other) {
  struct stat a {
  }, b{};
  return ::lstat(one.c_str(), &a) == 0 && ::lstat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." && name != "alloc" &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

AllocFolders alloc_folders(const std::string& alloc_dir, Uuid allocation) {
  const std::string root = alloc_dir + "/" + allocation.to_string();
  return {.root = root, .shared = root + "/alloc", .logs = root + "/alloc/logs"};
}

TaskFolders task_folders(const AllocFolders& alloc, const std::string& task) {
  const std::string root = alloc.root + "/" + task;
  return {.root = root, .local = root + "/local", .secrets = root + "/secrets"};
}

Status create_folders(const AllocFolders& alloc) {
  std::error_code error;
  const std::string parent = std::filesystem::path(alloc.root).parent_path();
  std::filesystem::create_directories(parent, error);
  if (error) return errno_status(error.value(), "create " + parent);
  DROVER_RETURN_IF_ERROR(make_folder(alloc.root, 0755));
  // Only the owner of a file in it may move that file: these three are ours.
  DROVER_RETURN_IF_ERROR(make_folder(alloc.shared, 01777));
  DROVER_RETURN_IF_ERROR(make_folder(alloc.shared + "/data", 0777));
  DROVER_RETURN_IF_ERROR(make_folder(alloc.logs, 0755));
  return make_folder(alloc.shared + "/tmp", 0777);
}

Status create_task_root(const std::string& task, const TaskFolders& folders) {
  if (!is_plain_name(task)) return invalid_argument("task name \"" + task + "\" cannot name a folder");
  return make_folder(folders.root, 0777, Owner::nobody);
}

Status create_task_folders(const std::string& task, const TaskFolders& folders) {
  DROVER_RETURN_IF_ERROR(create_task_root(task, folders));
  DROVER_RETURN_IF_ERROR(make_folder(folders.local, 0777, Owner::nobody));
  DROVER_RETURN_IF_ERROR(make_folder(folders.secrets, 0700));
  return make_folder(folders.root + "/tmp", 01777, Owner::nobody);
}

Status show_shared(const AllocFolders& alloc, const std::string& task_root) {
  const std::string target = task_root + "/alloc";
  DROVER_RETURN_IF_ERROR(make_folder(target, 0777));
  if (is_same_folder(target, alloc.shared)) return ok_status();
  if (::mount(alloc.shared.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) == 0) return ok_status();
  return errno_status(errno, "mount " + alloc.shared + " at " + target);
}

// Mounts in there are not the folder's own to remove.
Status remove_folders(const AllocFolders& alloc) {
  std::error_code error;
  if (!std::filesystem::exists(alloc.root, error)) return ok_status();
  DROVER_RETURN_IF_ERROR(unmount_all(alloc));
  std::filesystem::remove_all(alloc.root, error);
  return error ? errno_status(error.value(), "remove " + alloc.root) : ok_status();
}

TaskPaths paths_seen(const AllocFolders& alloc, const TaskFolders& task, bool is_isolated) {
  if (is_isolated) return {"/alloc", "/local", "/secrets"};
  return {alloc.shared, task.local, task.secrets};
}

}  // namespace drover::agent
