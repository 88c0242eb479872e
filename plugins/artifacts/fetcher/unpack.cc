#include "fetcher/unpack.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "drover/freed.h"

namespace drover::artifacts {
namespace {

namespace fs = std::filesystem;

// The longest end of a name that fits counts.
constexpr std::array<std::string_view, 14> kForms = {"tar.bz2", "tar.zst", "tar.gz", "tar.xz", "tbz2", "tzst", "tar",
                                                     "tgz",     "txz",     "zip",    "bz2",    "zst",  "gz",   "xz"};

using Archive = std::unique_ptr<archive, Freed<archive_free>>;

Status wrong(archive* reader, std::string_view form) {
  const char* words = archive_error_string(reader);
  return invalid_argument("the " + std::string(form) +
                          " archive cannot be unpacked: " + (words ? words : "it is damaged"));
}

// Stays below the folder it is named from, whatever is there.
bool stays_inside(const fs::path& path) {
  if (path.is_absolute()) return false;
  int depth = 0;
  for (const fs::path& part : path) {
    if (part == "..") --depth;
    if (part != ".." && part != "." && !part.empty()) ++depth;
    if (depth < 0) return false;
  }
  return true;
}

Status check_entry(archive_entry* entry) {
  const char* name = archive_entry_pathname(entry);
  if (!name || *name == '\0') return invalid_argument("an entry of the archive has no name that can be read");
  const fs::path path(name);
  if (std::ranges::find(path, "..") != path.end()) return invalid_argument("entry contains '..': " + path.string());
  if (path.is_absolute()) return invalid_argument("entry is an absolute path: " + path.string());
  if (const char* link = archive_entry_symlink(entry); link && !stays_inside(path.parent_path() / link)) {
    return invalid_argument("entry is a link that leads outside: " + path.string() + " -> " + link);
  }
  if (const char* link = archive_entry_hardlink(entry); link && !stays_inside(link)) {
    return invalid_argument("entry is a link that leads outside: " + path.string() + " -> " + link);
  }
  const auto type = archive_entry_filetype(entry);
  const bool is_plain = type == AE_IFREG || type == AE_IFDIR || type == AE_IFLNK || archive_entry_hardlink(entry);
  if (!is_plain) return invalid_argument("entry is neither a file, a folder nor a link: " + path.string());
  return ok_status();
}

class Unpacker {
 public:
  Unpacker(std::string_view form, UnpackLimits limits) : form_(form), limits_(limits) {}

  Status run(const std::string& from, const fs::path& target, const std::string& name) {
    archive_read_support_filter_bzip2(reader_.get());
    archive_read_support_filter_gzip(reader_.get());
    archive_read_support_filter_xz(reader_.get());
    archive_read_support_filter_zstd(reader_.get());
    if (is_single_file(form_)) {
      archive_read_support_format_raw(reader_.get());
    } else if (form_ == "zip") {
      archive_read_support_format_zip_seekable(reader_.get());
    } else {
      archive_read_support_format_tar(reader_.get());
    }
    archive_write_disk_set_options(writer_.get(), ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME |
                                                      ARCHIVE_EXTRACT_SECURE_SYMLINKS |
                                                      ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_UNLINK);
    if (archive_read_open_filename(reader_.get(), from.c_str(), 1 << 16) != ARCHIVE_OK)
      return wrong(reader_.get(), form_);
    while (true) {
      archive_entry* entry = nullptr;
      const int next = archive_read_next_header(reader_.get(), &entry);
      if (next == ARCHIVE_EOF) break;
      if (next < ARCHIVE_WARN) return wrong(reader_.get(), form_);
      if (is_single_file(form_)) archive_entry_set_pathname(entry, name.c_str());
      DROVER_RETURN_IF_ERROR(write_one(entry, target));
    }
    if (entries_ == 0) return invalid_argument("empty archive: " + fs::path(from).filename().string());
    return archive_write_close(writer_.get()) < ARCHIVE_WARN ? wrong(writer_.get(), form_) : ok_status();
  }

 private:
  Status write_one(archive_entry* entry, const fs::path& target) {
    ++entries_;
    if (limits_.most_files > 0 && entries_ > limits_.most_files) {
      return invalid_argument(family() + " archive contains too many files: more than " +
                              std::to_string(limits_.most_files) + " (client.artifact.decompression_file_count_limit)");
    }
    DROVER_RETURN_IF_ERROR(check_entry(entry));
    archive_entry_set_perm(entry, archive_entry_perm(entry) & 0777);
    if (archive_entry_filetype(entry) == AE_IFDIR) archive_entry_set_perm(entry, 0755);
    archive_entry_set_pathname(entry, (target / archive_entry_pathname(entry)).c_str());
    if (const char* link = archive_entry_hardlink(entry)) archive_entry_set_hardlink(entry, (target / link).c_str());
    if (archive_write_header(writer_.get(), entry) < ARCHIVE_WARN) return wrong(writer_.get(), form_);
    DROVER_RETURN_IF_ERROR(copy());
    return archive_write_finish_entry(writer_.get()) < ARCHIVE_WARN ? wrong(writer_.get(), form_) : ok_status();
  }

  Status copy() {
    while (true) {
      const void* data = nullptr;
      size_t size = 0;
      la_int64_t at = 0;
      const int next = archive_read_data_block(reader_.get(), &data, &size, &at);
      if (next == ARCHIVE_EOF) return ok_status();
      if (next < ARCHIVE_WARN) return wrong(reader_.get(), form_);
      bytes_ += size;
      if (limits_.most_bytes > 0 && bytes_ > limits_.most_bytes) {
        return invalid_argument(family() + " archive larger than limit: " + std::to_string(limits_.most_bytes) +
                                " (client.artifact.decompression_size_limit)");
      }
      if (archive_write_data_block(writer_.get(), data, size, at) < ARCHIVE_WARN)
        return unavailable(std::string("cannot write: ") + archive_error_string(writer_.get()));
    }
  }

  std::string family() const { return form_ == "zip" ? "zip" : is_single_file(form_) ? std::string(form_) : "tar"; }

  const std::string form_;
  const UnpackLimits limits_;
  const Archive reader_{archive_read_new()}, writer_{archive_write_disk_new()};
  uint64_t entries_ = 0, bytes_ = 0;
};

}  // namespace

std::string archive_form(std::string_view name, std::string_view option) {
  if (!option.empty()) {
    const bool is_known = std::ranges::find(kForms, option) != kForms.end();
    return is_known ? std::string(option) : std::string();
  }
  std::string best;
  for (const std::string_view form : kForms) {
    if (name.ends_with("." + std::string(form)) && form.size() > best.size()) best = form;
  }
  return best;
}

bool is_single_file(std::string_view form) { return form == "gz" || form == "bz2" || form == "xz" || form == "zst"; }

Status unpack(const std::string& archive, std::string_view form, const std::string& target, const std::string& name,
              const UnpackLimits& limits) {
  return Unpacker(form, limits).run(archive, target, name);
}

}  // namespace drover::artifacts
