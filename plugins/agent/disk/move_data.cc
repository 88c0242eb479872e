#include "disk/move_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "drover/fd.h"
#include "hooks/alloc_dir.h"

namespace drover::agent {
namespace {

// Tasks may have laid links there: none is followed.
Fd open_folder(const std::string& path) {
  return Fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Status move_folder(const std::string& from, const std::string& to, const char* name) {
  const std::string place = from + "/" + name;
  const Fd source = open_folder(from), target = open_folder(to);
  if (!source) return errno == ENOENT ? ok_status() : errno_status(errno, "open " + from);
  if (!target) return errno_status(errno, "open " + to);
  struct stat found {};
  if (::fstatat(source.get(), name, &found, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? ok_status() : errno_status(errno, "look at " + place);
  if (!S_ISDIR(found.st_mode)) return failed_precondition(place + " is no folder");
  // An empty folder gives way.
  if (::renameat(source.get(), name, target.get(), name) == 0) return ok_status();
  if (errno == ENOTEMPTY || errno == EEXIST) return failed_precondition(to + "/" + name + " holds data already");
  return errno_status(errno, "move " + place);
}

}  // namespace

Status move_data(const AllocFolders& from, const AllocFolders& to, const std::vector<std::string>& tasks) {
  DROVER_RETURN_IF_ERROR(move_folder(from.shared, to.shared, "data"));
  for (const std::string& task : tasks) {
    const TaskFolders folders = task_folders(to, task);
    DROVER_RETURN_IF_ERROR(create_task_root(task, folders));
    DROVER_RETURN_IF_ERROR(move_folder(task_folders(from, task).root, folders.root, "local"));
  }
  return ok_status();
}

}  // namespace drover::agent
