#include "files/alloc_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "drover/api/client.pb.h"
#include "drover/freed.h"
#include "drover/open_below.h"
#include "files/file_forms.h"
#include "files/path_rules.h"

namespace drover::agent {
namespace {

constexpr size_t kMostEntries = 10'000;
constexpr int kTries = 8;  // while what is on the way is renamed

// Opens the thing at a path below the folder: no link is followed, and a last one is opened itself.
Fd open_itself(const Fd& folder, const std::string& path) {
  return open_below(folder, path.empty() ? "." : path, O_PATH | O_NOFOLLOW,
                    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

std::string lower(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// In Go's words, which clients look for: "stat a/b: no such file or directory".
Status failure(int error, std::string_view doing, std::string_view said) {
  const std::string text = std::string(doing) + " " + shown(said) + ": " + lower(std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return not_found(text);
    case ENAMETOOLONG:
      return invalid_argument(text);
    case EMFILE:
    case ENFILE:
      return resource_exhausted(text);
    default:
      return failed_precondition(text);
  }
}

const char* kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISLNK(mode)) return "a symbolic link";
  return "a device";
}

// The same thing for reading, whatever its name is now. Requires: it is a file or a folder.
Fd reopen(const Fd& place, int flags) {
  const std::string handle = "/proc/self/fd/" + std::to_string(place.get());
  return Fd(::open(handle.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags));
}

std::string type_of(const Fd& place, mode_t mode, std::string_view name) {
  std::array<char, kTypedBytes> head;
  size_t size = 0;
  if (S_ISREG(mode)) {
    if (const Fd file = reopen(place, 0)) size = read_at(file, head, 0).value_or(0);
  }
  return S_ISDIR(mode) ? "application/octet-stream" : content_type({head.data(), size}, name);
}

void fill(const Fd& place, const struct stat& found, const std::string& name, v1::AllocFileInfo& out) {
  out.set_name(name_text(name));
  out.set_is_dir(S_ISDIR(found.st_mode));
  out.set_size(found.st_size);
  out.set_file_mode(mode_text(found.st_mode));
  out.set_mod_time(int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec);
  out.set_content_type(type_of(place, found.st_mode, name));
}

std::optional<std::string> target_of(const Fd& link) {
  std::string target(kLongestPath + 1, '\0');
  const ssize_t size = ::readlinkat(link.get(), "", target.data(), target.size());
  if (size < 0) return std::nullopt;
  target.resize(static_cast<size_t>(size));
  return target;
}

}  // namespace

Result<AllocTree> AllocTree::open(std::string root) {
  Fd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder) return AllocTree(std::move(root), std::move(folder));
  const std::string id = std::filesystem::path(root).filename();
  if (errno == ENOENT) return not_found("state for allocation " + id + " not found on client");
  return failure(errno, "open", id);
}

Result<AllocTree::Place> AllocTree::find(std::string_view said) const {
  DROVER_TRY(const std::vector<std::string> parts, path_parts(said));
  for (int tries = 0; tries < kTries; ++tries) {
    // Most paths have no link.
    Result<Place> place = look(joined(parts), said);
    if (place ? S_ISLNK(place->found.st_mode) : place.status().code() == Code::aborted) place = walk(parts, said);
    if (!place && place.status().code() == Code::aborted) continue;
    if (!place) return place;
    place->name = parts.empty() ? std::filesystem::path(root_).filename().string() : parts.back();
    return place;
  }
  return aborted("what is on the way to " + in_quotes(said) + " is renamed all the time; try again");
}

// Opens without following links. Errors also: aborted when there is one on the way. Nothing is said of secrets, not
// even that they are there.
Result<AllocTree::Place> AllocTree::look(const std::string& path, std::string_view said) const {
  if (is_secret(path)) return failed_precondition("Reading secret file prohibited: " + shown(said));
  Place place{.fd = open_itself(folder_, path), .path = path, .said = std::string(said)};
  if (!place.fd && (errno == ELOOP || errno == EAGAIN)) return aborted("a link is on the way to " + in_quotes(said));
  if (!place.fd && errno == EXDEV) return escapes();
  if (!place.fd || ::fstat(place.fd.get(), &place.found) != 0) return failure(errno, "stat", said);
  return place;
}

// Name by name, each opened anew from the allocation's folder. Errors also: aborted when a name became a link
// meanwhile.
Result<AllocTree::Place> AllocTree::walk(const std::vector<std::string>& parts, std::string_view said) const {
  std::error_code ignored;
  PathWalk way(parts, {root_, std::filesystem::canonical(root_, ignored)});
  while (!way.is_done()) {
    DROVER_TRY(const Place place, look(way.next(), said));
    if (!S_ISLNK(place.found.st_mode)) {
      DROVER_RETURN_IF_ERROR(way.enter());
      continue;
    }
    const std::optional<std::string> target = target_of(place.fd);
    if (!target) return failure(errno, "readlink", said);
    DROVER_RETURN_IF_ERROR(way.follow(*target));
  }
  DROVER_TRY(Place place, look(way.resolved(), said));
  if (S_ISLNK(place.found.st_mode)) return aborted("a name on the way to " + in_quotes(said) + " became a link");
  return place;
}

Status AllocTree::list(const Place& folder, v1::ListFilesResponse& out) const {
  if (!S_ISDIR(folder.found.st_mode)) return invalid_argument("file " + in_quotes(folder.said) + " is not a directory");
  const Fd opened = reopen(folder.fd, O_DIRECTORY);
  if (!opened) return failure(errno, "open", folder.said);
  const std::unique_ptr<DIR, Freed<::closedir>> entries(::fdopendir(::fcntl(opened.get(), F_DUPFD_CLOEXEC, 0)));
  if (!entries) return failure(errno, "open", folder.said);
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (static_cast<size_t>(out.files_size()) == kMostEntries)
      return resource_exhausted("directory " + in_quotes(folder.said) + " has more than " +
                                std::to_string(kMostEntries) + " entries; name one of them");
    const Fd place(::openat(opened.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat found {};
    if (place && ::fstat(place.get(), &found) == 0) fill(place, found, name, *out.add_files());
  }
  std::ranges::sort(*out.mutable_files(), {}, &v1::AllocFileInfo::name);
  return ok_status();
}

void AllocTree::describe(const Place& place, v1::AllocFileInfo& out) const {
  fill(place.fd, place.found, place.name, out);
}

Result<Fd> AllocTree::open_file(const Place& place) const {
  const mode_t mode = place.found.st_mode;
  if (S_ISDIR(mode)) return invalid_argument("file " + in_quotes(place.said) + " is a directory");
  if (!S_ISREG(mode))
    return invalid_argument("file " + in_quotes(place.said) + " is " + kind_of(mode) + ", which is not read");
  Fd file = reopen(place.fd, 0);
  if (!file) return failure(errno, "open", place.said);
  return file;
}

std::string AllocTree::handle(const Place& place) { return "/proc/self/fd/" + std::to_string(place.fd.get()); }

Result<size_t> read_at(const Fd& file, std::span<char> buffer, uint64_t offset) {
  while (true) {
    const ssize_t size = ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (size >= 0) return static_cast<size_t>(size);
    if (errno != EINTR) return errno_status(errno, "read a file");
  }
}

}  // namespace drover::agent
