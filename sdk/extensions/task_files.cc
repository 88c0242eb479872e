#include "drover/task_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

#include "drover/open_below.h"
#include "drover/uuid.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestFile = 16 << 20;
constexpr mode_t kFolderMode = 0755;

Status failure(int error, std::string_view doing, std::string_view path) {
  if (error == EXDEV || error == ELOOP)
    return invalid_argument("'" + std::string(path) + "' is outside of sandbox: only files of the allocation are seen");
  return errno_status(error, std::string(doing) + " " + std::string(path));
}

bool is_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

Result<std::string> read_all(int fd, std::string_view path) {
  std::string text;
  std::array<char, 65536> part;
  while (true) {
    const ssize_t size = ::read(fd, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failure(errno, "read", path);
    if (size == 0) return text;
    text.append(part.data(), static_cast<size_t>(size));
    if (text.size() > kLargestFile) return resource_exhausted(std::string(path) + " is larger than 16 MiB");
  }
}

Status write_all(int fd, std::string_view text, std::string_view path) {
  while (!text.empty()) {
    const ssize_t size = ::write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failure(errno, "write", path);
    text.remove_prefix(static_cast<size_t>(size));
  }
  return ok_status();
}

bool is_owned(const struct stat& found, const TaskFiles::Ownership& owner) {
  return (found.st_mode & 07777) == owner.mode && (!owner.user || found.st_uid == *owner.user) &&
         (!owner.group || found.st_gid == *owner.group);
}

}  // namespace

std::string host_path(std::string_view path, const TaskFileFolders& folders) {
  const fs::path said(path);
  if (!said.is_absolute()) return (fs::path(folders.task.root) / said).lexically_normal();
  const std::string text = said.lexically_normal();
  const std::pair<const std::string*, const std::string*> shown[] = {
      {&folders.seen.secrets_dir, &folders.task.secrets},
      {&folders.seen.task_dir, &folders.task.local},
      {&folders.seen.alloc_dir, &folders.alloc.shared}};
  for (const auto& [seen, here] : shown) {
    if (!seen->empty() && is_below(text, *seen)) return *here + text.substr(seen->size());
  }
  return text;
}

TaskFileFolders task_file_folders(const AllocFolders& alloc, const TaskFolders& task, const Variables& environment) {
  const auto seen = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  return {.alloc = alloc,
          .task = task,
          .seen = {.alloc_dir = seen("NOMAD_ALLOC_DIR"),
                   .task_dir = seen("NOMAD_TASK_DIR"),
                   .secrets_dir = seen("NOMAD_SECRETS_DIR")}};
}

// A file by the folder from which it is opened.
struct TaskFiles::Place {
  Fd base;
  std::string path;  // below the base
  uint64_t resolve;

  Fd open(int flags) const { return open_below(base, path, flags, resolve); }

  // The folder below the base, made where it is missing.
  Result<Fd> folder(const fs::path& wanted, std::string_view said) const {
    Fd at(::dup(base.get()));
    std::string below;
    for (const fs::path& part : wanted) {
      if (part.empty()) continue;  // behind a slash at the end
      below = below.empty() ? part.string() : below + "/" + part.string();
      Fd next = open_below(base, below, O_PATH | O_DIRECTORY, resolve);
      if (next.get() < 0 && errno == ENOENT) {
        if (::mkdirat(at.get(), part.c_str(), kFolderMode) != 0 && errno != EEXIST)
          return failure(errno, "create the folder of", said);
        next = open_below(base, below, O_PATH | O_DIRECTORY, resolve);
      }
      if (next.get() < 0) return failure(errno, "open the folder of", said);
      at = std::move(next);
    }
    return at;
  }
};

Result<TaskFiles::Place> TaskFiles::place_of(std::string_view path) const {
  const std::string here = host_path(path, folders_);
  const std::string base = is_closed_ ? folders_.alloc.root : "/";
  if (is_closed_ && !is_below(here, base)) return failure(EXDEV, "open", path);
  std::string below = here.substr(std::min(here.size(), base.size()));
  below.erase(0, below.find_first_not_of('/'));
  if (below.empty()) return invalid_argument("'" + std::string(path) + "' names no file");
  Fd folder(::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return failure(errno, "open", base);
  return Place{std::move(folder), std::move(below),
               is_closed_ ? uint64_t{RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS} : uint64_t{0}};
}

Result<std::string> TaskFiles::read(std::string_view path) const {
  DROVER_TRY(const Place place, place_of(path));
  const Fd file = place.open(O_RDONLY | O_NONBLOCK);  // a FIFO is no file that waits for a writer here
  if (file.get() < 0) return failure(errno, "open", path);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0) return failure(errno, "look at", path);
  if (!S_ISREG(found.st_mode)) return invalid_argument("'" + std::string(path) + "' is no file");
  return read_all(file.get(), path);
}

std::optional<TaskFiles::Mark> TaskFiles::mark(std::string_view path) const {
  const auto place = place_of(path);
  if (!place) return std::nullopt;
  const Fd file = place->open(O_PATH);
  struct stat found {};
  if (file.get() < 0 || ::fstat(file.get(), &found) != 0) return std::nullopt;
  return Mark{.inode = found.st_ino,
              .size = found.st_size,
              .modified = int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

Result<Fd> TaskFiles::open_folder(std::string_view path) const {
  DROVER_TRY(const Place place, place_of(path));
  DROVER_TRY(const Fd folder, place.folder(place.path, path));
  Fd opened(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return failure(errno, "open", path);
  return opened;
}

Status TaskFiles::write_secret(std::string_view path, std::string_view content) const {
  Ownership owner{.mode = 0600, .user = {}, .group = {}};
  struct stat secrets {};
  if (::stat(folders_.task.secrets.c_str(), &secrets) == 0) {
    owner.user = secrets.st_uid;
    owner.group = secrets.st_gid;
    if ((secrets.st_mode & S_IWOTH) != 0) owner.mode = 0644;
  }
  return write(path, content, owner).status();
}

Result<bool> TaskFiles::write(std::string_view path, std::string_view content, const Ownership& owner) const {
  DROVER_TRY(const Place place, place_of(path));
  DROVER_TRY(const Fd folder, place.folder(fs::path(place.path).parent_path(), path));
  const std::string name = fs::path(place.path).filename();
  if (const Fd known = place.open(O_RDONLY | O_NONBLOCK | O_NOFOLLOW)) {
    struct stat found {};
    const bool is_file = ::fstat(known.get(), &found) == 0 && S_ISREG(found.st_mode);
    if (is_file && is_owned(found, owner) && static_cast<size_t>(found.st_size) == content.size()) {
      if (const auto text = read_all(known.get(), path); text && *text == content) return false;
    }
  }
  const std::string fresh = "." + name.substr(0, 100) + "." + Uuid::random().to_string();
  const Fd file(::openat(folder.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return failure(errno, "write beside", path);
  const auto put = [&]() -> Status {
    DROVER_RETURN_IF_ERROR(write_all(file.get(), content, path));
    if ((owner.user || owner.group) &&
        ::fchown(file.get(), owner.user.value_or(static_cast<uid_t>(-1)), owner.group.value_or(static_cast<gid_t>(-1))))
      return failure(errno, "set the owner of", path);
    if (::fchmod(file.get(), owner.mode) != 0) return failure(errno, "set the mode of", path);
    if (::fsync(file.get()) != 0) return failure(errno, "write", path);
    if (::renameat(folder.get(), fresh.c_str(), folder.get(), name.c_str()) != 0) return failure(errno, "write", path);
    return ok_status();
  };
  if (const Status status = put(); !status.ok()) {
    ::unlinkat(folder.get(), fresh.c_str(), 0);
    return status;
  }
  return true;
}

}  // namespace drover
