#include "alloc_dir.h"

#include <sys/mount.h>
#include <sys/stat.h>

#include <filesystem>

namespace drover::agent {
namespace {

Status make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0) {
    // The process's umask must not narrow what tasks of other users need.
    return ::chmod(path.c_str(), mode) == 0 ? ok_status() : errno_status(errno, "set the mode of " + path);
  }
  struct stat found {};
  if (errno == EEXIST && ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return ok_status();
  return errno_status(errno, "create " + path);
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
  // Only the owner of a file in it may move that file: "logs" is ours.
  DROVER_RETURN_IF_ERROR(make_folder(alloc.shared, 01777));
  DROVER_RETURN_IF_ERROR(make_folder(alloc.shared + "/data", 0777));
  DROVER_RETURN_IF_ERROR(make_folder(alloc.logs, 0755));
  return make_folder(alloc.shared + "/tmp", 0777);
}

Status create_task_folders(const std::string& task, const TaskFolders& folders) {
  if (!is_plain_name(task)) return invalid_argument("task name \"" + task + "\" cannot name a folder");
  DROVER_RETURN_IF_ERROR(make_folder(folders.root, 0777));
  DROVER_RETURN_IF_ERROR(make_folder(folders.local, 0777));
  DROVER_RETURN_IF_ERROR(make_folder(folders.secrets, 0700));
  return make_folder(folders.root + "/tmp", 0777);
}

Status show_shared(const AllocFolders& alloc, const std::string& task_root) {
  const std::string target = task_root + "/alloc";
  DROVER_RETURN_IF_ERROR(make_folder(target, 0777));
  if (is_same_folder(target, alloc.shared)) return ok_status();
  if (::mount(alloc.shared.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) == 0) return ok_status();
  return errno_status(errno, "mount " + alloc.shared + " at " + target);
}

// Mounts in a task's folder are taken away first: they are not the folder's own to remove.
Status remove_folders(const AllocFolders& alloc) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(alloc.root, error), end; !error && at != end; at.increment(error)) {
    const std::string shown = at->path().string() + "/alloc";
    if (!is_same_folder(shown, alloc.shared) || shown == alloc.shared) continue;
    if (::umount2(shown.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) return errno_status(errno, "unmount " + shown);
  }
  std::filesystem::remove_all(alloc.root, error);
  return error ? errno_status(error.value(), "remove " + alloc.root) : ok_status();
}

TaskPaths paths_seen(const AllocFolders& alloc, const TaskFolders& task, bool is_isolated) {
  if (is_isolated) return {"/alloc", "/local", "/secrets"};
  return {alloc.shared, task.local, task.secrets};
}

}  // namespace drover::agent
