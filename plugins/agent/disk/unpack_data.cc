#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "disk/disk_archive.h"
#include "drover/freed.h"
#include "drover/open_below.h"

namespace drover::agent {
namespace {

constexpr size_t kLongestError = 4096;
constexpr mode_t kKeptMode = 01777;  // programs of other users (setuid) stay where they were made

std::string joined(const std::vector<std::string>& parts, size_t count) {
  std::string path;
  for (size_t i = 0; i < count; ++i) path += (i == 0 ? "" : "/") + parts[i];
  return path;
}

class Unpacker {
 public:
  Unpacker(const AllocFolders& folders, const std::vector<std::string>& tasks, const ArchiveSource& source,
           uint64_t most_bytes)
      : root_(::open(folders.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)),
        tasks_(tasks),
        source_(source),
        most_bytes_(most_bytes) {}

  Result<Unpacked> run() {
    if (!root_) return errno_status(errno, "open the folder for the snapshot");
    archive_read_support_format_tar(reader_.get());
    if (archive_read_open(reader_.get(), this, nullptr, take, nullptr) != ARCHIVE_OK) return wrong();
    while (true) {
      archive_entry* entry = nullptr;
      const int next = archive_read_next_header(reader_.get(), &entry);
      if (next == ARCHIVE_EOF) break;
      if (next < ARCHIVE_WARN) return wrong();
      DROVER_RETURN_IF_ERROR(make(entry));
    }
    // A folder that nobody may write gets its contents first.
    for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder)
      DROVER_RETURN_IF_ERROR(finish_folder(*folder));
    return done_;
  }

 private:
  struct Folder {
    std::string path;
    struct stat like;
  };

  static la_ssize_t take(archive* reader, void* self, const void** data) {
    auto& unpacker = *static_cast<Unpacker*>(self);
    auto next = unpacker.source_();
    if (next && (unpacker.done_.bytes += next->size()) > unpacker.most_bytes_)
      next = resource_exhausted("the data is larger than " + std::to_string(unpacker.most_bytes_) +
                                " bytes: the group's ephemeral_disk.size allows no more");
    if (!next) {
      unpacker.broken_ = next.status();
      archive_set_error(reader, EIO, "the archive was cut off");
      return -1;
    }
    unpacker.part_ = *std::move(next);
    *data = unpacker.part_.data();
    return static_cast<la_ssize_t>(unpacker.part_.size());
  }

  Status wrong() const {
    if (!broken_.ok()) return broken_;
    const char* words = archive_error_string(reader_.get());
    return invalid_argument(std::string("the snapshot cannot be read: ") + (words ? words : "it is damaged"));
  }

  Status make(archive_entry* entry) {
    const char* text = archive_entry_pathname(entry);
    const std::string name = text ? text : "";
    if (name.starts_with("NOMAD-") && name.ends_with("-ERROR.log") && name.find('/') == std::string::npos)
      return told_error();
    DROVER_TRY(const std::vector<std::string> parts, check_entry_name(name, tasks_));
    if (archive_entry_hardlink(entry)) return unfit(name);
    const auto type = archive_entry_filetype(entry);
    if (type == AE_IFDIR) return make_folder(entry, parts);
    if (type != AE_IFREG && type != AE_IFLNK) return unfit(name);
    DROVER_TRY(const Fd parent, open_folder(joined(parts, parts.size() - 1)));
    return type == AE_IFREG ? make_file(entry, parent, parts.back()) : make_link(entry, parent, parts);
  }

  static Status unfit(const std::string& name) {
    return invalid_argument("the entry \"" + name +
                            "\" of the snapshot is neither a file, a folder nor a symbolic link");
  }

  Status told_error() {
    std::string words(kLongestError, '\0');
    const la_ssize_t size = archive_read_data(reader_.get(), words.data(), words.size());
    words.resize(static_cast<size_t>(std::max<la_ssize_t>(size, 0)));
    return invalid_argument("the other node could not send everything: " + words);
  }

  Result<Fd> open_folder(const std::string& path) const {
    Fd found = open_below(root_, path, O_RDONLY | O_DIRECTORY,
                          RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
    if (!found) return invalid_argument("the snapshot has something in " + path + ", which is no folder of it");
    return found;
  }

  Status make_folder(archive_entry* entry, const std::vector<std::string>& parts) {
    const std::string path = joined(parts, parts.size());
    DROVER_TRY(const Fd parent, open_folder(joined(parts, parts.size() - 1)));
    if (::mkdirat(parent.get(), parts.back().c_str(), 0700) != 0 && errno != EEXIST)
      return errno_status(errno, "create " + path);
    DROVER_TRY(const Fd folder, open_folder(path));
    folders_.push_back({path, *archive_entry_stat(entry)});
    return ok_status();
  }

  Status finish_folder(const Folder& made) {
    DROVER_TRY(const Fd folder, open_folder(made.path));
    return be_like(folder, made.like, made.path);
  }

  static Status be_like(const Fd& file, const struct stat& like, const std::string& path) {
    const timespec times[] = {like.st_mtim, like.st_mtim};
    if (::geteuid() == 0 && ::fchown(file.get(), like.st_uid, like.st_gid) != 0)
      return errno_status(errno, "set the owner of " + path);
    if (::fchmod(file.get(), like.st_mode & kKeptMode) != 0) return errno_status(errno, "set the mode of " + path);
    if (::futimens(file.get(), times) != 0) return errno_status(errno, "set the times of " + path);
    return ok_status();
  }

  Status make_file(archive_entry* entry, const Fd& parent, const std::string& name) {
    const struct stat like = *archive_entry_stat(entry);
    const Fd file(::openat(parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return errno_status(errno, "create " + name);
    ++done_.files;
    while (true) {
      const void* data = nullptr;
      size_t size = 0;
      la_int64_t at = 0;
      const int next = archive_read_data_block(reader_.get(), &data, &size, &at);
      if (next == ARCHIVE_EOF) break;
      if (next < ARCHIVE_WARN) return wrong();
      DROVER_RETURN_IF_ERROR(put(file, {static_cast<const char*>(data), size}, at, name));
    }
    // A file with holes may end in one.
    if (like.st_size < 0 || static_cast<uint64_t>(like.st_size) > most_bytes_)
      return resource_exhausted(name + " is larger than the group's ephemeral_disk.size allows");
    if (::ftruncate(file.get(), like.st_size) != 0) return errno_status(errno, "write " + name);
    return be_like(file, like, name);
  }

  static Status put(const Fd& file, std::string_view bytes, off_t at, const std::string& name) {
    while (!bytes.empty()) {
      const ssize_t size = ::pwrite(file.get(), bytes.data(), bytes.size(), at);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return errno_status(errno, "write " + name);
      bytes.remove_prefix(static_cast<size_t>(size));
      at += size;
    }
    return ok_status();
  }

  Status make_link(archive_entry* entry, const Fd& parent, const std::vector<std::string>& parts) {
    const char* text = archive_entry_symlink(entry);
    const std::string to = text ? text : "";
    if (to.empty() || !stays_in_allocation(parts, to)) return ++done_.dropped_links, ok_status();
    if (::symlinkat(to.c_str(), parent.get(), parts.back().c_str()) != 0)
      return errno_status(errno, "create " + parts.back());
    const struct stat& like = *archive_entry_stat(entry);
    const bool is_given = ::geteuid() != 0 || ::fchownat(parent.get(), parts.back().c_str(), like.st_uid, like.st_gid,
                                                         AT_SYMLINK_NOFOLLOW) == 0;
    return is_given ? ok_status() : errno_status(errno, "set the owner of " + parts.back());
  }

  const Fd root_;
  const std::vector<std::string>& tasks_;
  const ArchiveSource& source_;
  const uint64_t most_bytes_;
  const std::unique_ptr<archive, Freed<archive_free>> reader_{archive_read_new()};
  std::string part_;  // libarchive reads it until it asks for the next
  Status broken_;     // of the source
  std::vector<Folder> folders_;
  Unpacked done_;
};

}  // namespace

Result<Unpacked> unpack_data(const AllocFolders& folders, const std::vector<std::string>& tasks,
                             const ArchiveSource& source, uint64_t most_bytes) {
  return Unpacker(folders, tasks, source, most_bytes).run();
}

}  // namespace drover::agent
