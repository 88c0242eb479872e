#include "storage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <filesystem>

#include "../ledger/volumes.h"
#include "copy_tree.h"
#include "drover/fd.h"
#include "hostpath.pb.h"

namespace drover::hostpath {
namespace fs = std::filesystem;
namespace {

constexpr const char* kPermissions = "permissions";
constexpr mode_t kEverybody = 0777;  // only those whom the volume is mounted for come as far as this
constexpr int64_t kSector = 512;     // the unit of st_blocks

mode_t permissions_of(const Volume& volume) {
  const auto at = volume.parameters().find(kPermissions);
  return at == volume.parameters().end() ? kEverybody : static_cast<mode_t>(std::stoul(at->second, nullptr, 8));
}

Status remove_all(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? errno_status(error.value(), path) : ok_status();
}

void count(const std::string& path, Usage& usage) {
  struct stat stat {};
  if (::lstat(path.c_str(), &stat) != 0) return;  // it has gone meanwhile
  usage.bytes += stat.st_blocks * kSector / static_cast<int64_t>(S_ISDIR(stat.st_mode) ? 1 : stat.st_nlink);
  ++usage.inodes;
}

}  // namespace

Status Storage::open() {
  for (const char* name : {"/volumes", "/snapshots"}) {
    const std::string path = folder_ + name;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return errno_status(errno, path);
  }
  return {};
}

std::string Storage::path_of(const Volume& volume) const { return volume_path(volume.id()); }
std::string Storage::path_of(const Snapshot& snapshot) const { return snapshot_path(snapshot.id()); }

Status Storage::make_empty(const Volume& volume) {
  const std::string path = path_of(volume);
  if (!volume.is_block()) return ::mkdir(path.c_str(), 0700) == 0 ? ok_status() : errno_status(errno, path);
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return file ? ok_status() : errno_status(errno, path);
}

Status Storage::make(const Volume& volume) {
  const std::string path = path_of(volume);
  DROVER_RETURN_IF_ERROR(remove_all(path));
  if (!volume.source_snapshot().empty()) {
    DROVER_RETURN_IF_ERROR(copy_tree(snapshot_path(volume.source_snapshot()), path));
  } else if (!volume.source_volume().empty()) {
    DROVER_RETURN_IF_ERROR(copy_tree(volume_path(volume.source_volume()), path));
  } else {
    DROVER_RETURN_IF_ERROR(make_empty(volume));
  }
  const bool has_own = volume.source_snapshot().empty() && volume.source_volume().empty();
  const bool is_said = has_own || volume.parameters().contains(kPermissions);
  if (!volume.is_block() && is_said && ::chmod(path.c_str(), permissions_of(volume)) != 0)
    return errno_status(errno, path);
  DROVER_RETURN_IF_ERROR(grow(volume));
  return sync();
}

Status Storage::make(const Snapshot& snapshot) {
  const std::string path = path_of(snapshot);
  DROVER_RETURN_IF_ERROR(remove_all(path));
  DROVER_RETURN_IF_ERROR(copy_tree(volume_path(snapshot.source_volume()), path));
  return sync();
}

Status Storage::remove(const Volume& volume) { return remove_all(path_of(volume)); }
Status Storage::remove(const Snapshot& snapshot) { return remove_all(path_of(snapshot)); }

Status Storage::grow(const Volume& volume) {
  if (!volume.is_block()) return {};
  const std::string path = path_of(volume);
  const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat stat {};
  if (!file || ::fstat(file.get(), &stat) != 0) return errno_status(errno, path);
  if (stat.st_size >= volume.capacity()) return {};
  if (::ftruncate(file.get(), volume.capacity()) != 0 || ::fsync(file.get()) != 0) return errno_status(errno, path);
  return {};
}

Status Storage::sync() const {
  const Fd folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder && ::syncfs(folder.get()) == 0 ? ok_status() : errno_status(errno, folder_);
}

Result<Room> Storage::room() const {
  struct statvfs system {};
  if (::statvfs(folder_.c_str(), &system) != 0) return errno_status(errno, folder_);
  const auto unit = static_cast<int64_t>(system.f_frsize);
  return Room{.total = static_cast<int64_t>(system.f_blocks) * unit,
              .left = static_cast<int64_t>(system.f_bavail) * unit};
}

Result<Usage> Storage::usage(const Volume& volume) const {
  const std::string path = path_of(volume);
  struct statvfs system {};
  if (::statvfs(path.c_str(), &system) != 0) return errno_status(errno, path);
  Usage usage{.free_bytes = static_cast<int64_t>(system.f_bavail * system.f_frsize),
              .free_inodes = static_cast<int64_t>(system.f_favail),
              .all_inodes = static_cast<int64_t>(system.f_files)};
  count(path, usage);
  std::error_code error;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(path, kOptions, error), end; !error && at != end; at.increment(error))
    count(at->path(), usage);
  return usage;
}

std::string Storage::complaint(const Volume& volume) const {
  struct stat stat {};
  if (::lstat(path_of(volume).c_str(), &stat) != 0) return "the folder of the volume is gone";
  if (S_ISDIR(stat.st_mode) == volume.is_block()) return "the folder of the volume is something else";
  if (volume.is_block()) return stat.st_size < volume.capacity() ? "the file of the volume is too short" : "";
  const auto held = usage(volume);
  return held && held->bytes > volume.capacity() ? "the volume holds more than its capacity" : "";
}

}  // namespace drover::hostpath
