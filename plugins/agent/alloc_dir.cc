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

Status AllocDir::create() const {
  std::error_code error;
  const std::string root = std::filesystem::path(path_).parent_path();
  std::filesystem::create_directories(root, error);
  if (error) return errno_status(error.value(), "create " + root);
  DROVER_RETURN_IF_ERROR(make_folder(path_, 0755));
  DROVER_RETURN_IF_ERROR(make_folder(shared(), 01777));  // nobody but its owner moves what lies in it: "logs" is ours
  DROVER_RETURN_IF_ERROR(make_folder(shared() + "/data", 0777));
  DROVER_RETURN_IF_ERROR(make_folder(logs(), 0755));
  return make_folder(shared() + "/tmp", 0777);
}

Status AllocDir::create_task(const std::string& name) const {
  if (!is_plain_name(name)) return invalid_argument("task name \"" + name + "\" cannot name a folder");
  const std::string folder = task(name);
  DROVER_RETURN_IF_ERROR(make_folder(folder, 0777));
  DROVER_RETURN_IF_ERROR(make_folder(folder + "/local", 0777));
  DROVER_RETURN_IF_ERROR(make_folder(folder + "/secrets", 0700));
  return make_folder(folder + "/tmp", 0777);
}

Status AllocDir::show_shared(const std::string& name) const {
  const std::string target = task(name) + "/alloc";
  DROVER_RETURN_IF_ERROR(make_folder(target, 0777));
  if (is_same_folder(target, shared())) return ok_status();
  if (::mount(shared().c_str(), target.c_str(), nullptr, MS_BIND, nullptr) == 0) return ok_status();
  return errno_status(errno, "mount " + shared() + " at " + target);
}

// What is shown in a task's folder is taken away first: it is not the folder's own to remove.
Status AllocDir::remove() const {
  std::error_code error;
  for (std::filesystem::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
    const std::string shown = at->path().string() + "/alloc";
    if (!is_same_folder(shown, shared()) || shown == shared()) continue;
    if (::umount2(shown.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) return errno_status(errno, "unmount " + shown);
  }
  std::filesystem::remove_all(path_, error);
  return error ? errno_status(error.value(), "remove " + path_) : ok_status();
}

TaskPaths AllocDir::paths_for(const std::string& name, bool isolated) const {
  if (isolated) return {"/alloc", "/local", "/secrets"};
  return {shared(), task(name) + "/local", task(name) + "/secrets"};
}

}  // namespace drover::agent
