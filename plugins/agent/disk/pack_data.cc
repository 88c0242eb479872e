#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <memory>

#include "disk/disk_archive.h"
#include "drover/fd.h"
#include "drover/freed.h"
#include "hooks/alloc_dir.h"

namespace drover::agent {
namespace {

constexpr int kDeepest = 512;  // folders in folders: each keeps a descriptor open
constexpr int kBlock = 1 << 16;

using Entry = std::unique_ptr<archive_entry, Freed<archive_entry_free>>;

class Packer {
 public:
  Packer(const ArchiveSink& sink, const std::stop_token& stop) : sink_(sink), stop_(stop) {}

  Status run(const AllocFolders& folders, Uuid allocation, const std::vector<std::string>& tasks) {
    archive_write_set_format_pax_restricted(writer_.get());
    archive_write_set_bytes_per_block(writer_.get(), kBlock);
    archive_write_set_bytes_in_last_block(writer_.get(), 1);
    if (archive_write_open(writer_.get(), this, nullptr, give, nullptr) != ARCHIVE_OK) return wrong("open");
    if (Status status = pack_all(folders, tasks); !status.ok()) {
      if (!is_over()) (void)add_error(allocation, status.message());
      if (!is_over()) archive_write_close(writer_.get());
      return is_over() ? cancelled("the reader has gone") : status;
    }
    return archive_write_close(writer_.get()) < ARCHIVE_WARN ? wrong("end") : ok_status();
  }

 private:
  static la_ssize_t give(archive* writer, void* self, const void* data, size_t size) {
    auto& packer = *static_cast<Packer*>(self);
    if (!packer.is_over() && packer.sink_({static_cast<const char*>(data), size})) return static_cast<la_ssize_t>(size);
    packer.is_unwanted_ = true;
    archive_set_error(writer, ECANCELED, "the reader has gone");
    return -1;
  }
  bool is_over() const { return is_unwanted_ || stop_.stop_requested(); }

  Status wrong(const std::string& doing) const {
    if (is_over()) return cancelled("the reader has gone");
    const char* words = archive_error_string(writer_.get());
    return internal_error("cannot " + doing + " the snapshot: " + (words ? words : "unknown error"));
  }

  Status pack_all(const AllocFolders& folders, const std::vector<std::string>& tasks) {
    DROVER_RETURN_IF_ERROR(add_top(folders.shared, "data", "alloc/data"));
    for (const std::string& task : tasks)
      DROVER_RETURN_IF_ERROR(add_top(task_folders(folders, task).root, "local", task + "/local"));
    return ok_status();
  }

  Status add_top(const std::string& parent, const char* name, const std::string& shown) {
    const Fd folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat found {};
    if (!folder || ::fstatat(folder.get(), name, &found, AT_SYMLINK_NOFOLLOW) != 0)
      return errno == ENOENT ? ok_status() : errno_status(errno, "look at " + shown);
    if (!S_ISDIR(found.st_mode)) return failed_precondition(shown + " is no folder");
    return add(folder, name, shown, 0);
  }

  // Leaves out a file that vanishes meanwhile.
  Status add(const Fd& parent, const char* name, const std::string& shown, int depth) {
    if (is_over()) return cancelled("the reader has gone");
    struct stat found {};
    if (::fstatat(parent.get(), name, &found, AT_SYMLINK_NOFOLLOW) != 0)
      return errno == ENOENT ? ok_status() : errno_status(errno, "look at " + shown);
    if (S_ISDIR(found.st_mode)) return add_folder(parent, name, shown, depth);
    if (S_ISREG(found.st_mode)) return add_file(parent, name, shown);
    return S_ISLNK(found.st_mode) ? add_link(parent, name, shown, found) : ok_status();
  }

  Status write_header(const std::string& shown, const struct stat& like, const char* link = nullptr) {
    const Entry entry(archive_entry_new());
    archive_entry_copy_stat(entry.get(), &like);
    archive_entry_set_pathname(entry.get(), shown.c_str());
    archive_entry_set_nlink(entry.get(), 1);
    if (link) archive_entry_set_symlink(entry.get(), link);
    return archive_write_header(writer_.get(), entry.get()) < ARCHIVE_WARN ? wrong("add " + shown + " to")
                                                                           : ok_status();
  }

  Status add_folder(const Fd& parent, const char* name, const std::string& shown, int depth) {
    if (depth >= kDeepest) return invalid_argument(shown + " lies too deep for a snapshot");
    const Fd folder(::openat(parent.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat found {};
    if (!folder || ::fstat(folder.get(), &found) != 0) return errno_status(errno, "open " + shown);
    DROVER_RETURN_IF_ERROR(write_header(shown + "/", found));
    const std::unique_ptr<DIR, Freed<::closedir>> list(::fdopendir(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0)));
    if (!list) return errno_status(errno, "list " + shown);
    while (const dirent* at = ::readdir(list.get())) {
      const std::string below = at->d_name;
      if (below == "." || below == "..") continue;
      DROVER_RETURN_IF_ERROR(add(folder, below.c_str(), shown + "/" + below, depth + 1));
    }
    return ok_status();
  }

  Status add_link(const Fd& parent, const char* name, const std::string& shown, const struct stat& found) {
    std::array<char, PATH_MAX> to{};
    const ssize_t size = ::readlinkat(parent.get(), name, to.data(), to.size() - 1);
    if (size < 0) return errno == ENOENT ? ok_status() : errno_status(errno, "read " + shown);
    return write_header(shown, found, to.data());
  }

  Status add_file(const Fd& parent, const char* name, const std::string& shown) {
    const Fd file(::openat(parent.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat found {};
    if (!file) return errno == ENOENT ? ok_status() : errno_status(errno, "open " + shown);
    if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return errno_status(errno, "look at " + shown);
    DROVER_RETURN_IF_ERROR(write_header(shown, found));
    // The archive takes as many bytes as its header says: of a file that grows no more, of one that shrinks zeros.
    for (off_t left = found.st_size; left > 0;) {
      const ssize_t size = ::read(file.get(), bytes_.data(), bytes_.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return errno_status(errno, "read " + shown);
      if (size == 0) break;
      if (archive_write_data(writer_.get(), bytes_.data(), static_cast<size_t>(size)) < 0) return wrong("write");
      left -= size;
    }
    return archive_write_finish_entry(writer_.get()) < ARCHIVE_WARN ? wrong("write") : ok_status();
  }

  Status add_error(Uuid allocation, const std::string& text) {
    struct stat like {};
    like.st_mode = S_IFREG | 0600;
    like.st_size = static_cast<off_t>(text.size());
    archive_write_finish_entry(writer_.get());  // what was cut off
    DROVER_RETURN_IF_ERROR(write_header("NOMAD-" + allocation.to_string() + "-ERROR.log", like));
    return archive_write_data(writer_.get(), text.data(), text.size()) < 0 ? wrong("write") : ok_status();
  }

  const ArchiveSink& sink_;
  const std::stop_token& stop_;
  bool is_unwanted_ = false;
  std::array<char, kBlock> bytes_;
  const std::unique_ptr<archive, Freed<archive_free>> writer_{archive_write_new()};  // last: its end may still give bytes
};

}  // namespace

Status pack_data(const AllocFolders& folders, Uuid allocation, const std::vector<std::string>& tasks,
                 const ArchiveSink& sink, const std::stop_token& stop) {
  return Packer(sink, stop).run(folders, allocation, tasks);
}

}  // namespace drover::agent
