#include "debug/bundle.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "drover/fd.h"
#include "drover/freed.h"
#include "drover/object_name.h"

namespace drover::cli {
namespace {

constexpr mode_t kMine = 0600;
constexpr mode_t kMyFolder = 0700;
constexpr const char* kIndex = "index.json";

Status disk_error(const std::filesystem::path& path, int number) {
  return unavailable(path.string() + ": " + std::generic_category().message(number));
}

// A tar file that is being written.
class Tar {
 public:
  Status open(const std::filesystem::path& path) {
    file_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMine));
    if (!file_) return errno == EEXIST ? already_exists(path.string() + " exists") : disk_error(path, errno);
    archive_write_add_filter_gzip(archive_.get());
    archive_write_set_format_pax_restricted(archive_.get());
    return check(archive_write_open_fd(archive_.get(), file_.get()));
  }

  Status add(const std::filesystem::path& file, const std::string& name, uint64_t size) {
    const std::unique_ptr<archive_entry, Freed<archive_entry_free>> entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), kMine);
    DROVER_RETURN_IF_ERROR(check(archive_write_header(archive_.get(), entry.get())));
    std::ifstream in(file, std::ios::binary);
    std::array<char, 64 * 1024> bytes;
    while (in.read(bytes.data(), bytes.size()) || in.gcount() > 0) {
      const auto got = static_cast<size_t>(in.gcount());
      DROVER_RETURN_IF_ERROR(check(static_cast<int>(archive_write_data(archive_.get(), bytes.data(), got))));
    }
    return check(archive_write_finish_entry(archive_.get()));
  }

  Status close() { return check(archive_write_close(archive_.get())); }

 private:
  Status check(int outcome) {
    if (outcome >= ARCHIVE_WARN) return ok_status();
    const char* why = archive_error_string(archive_.get());
    return unavailable(std::string("the archive cannot be written: ") + (why ? why : "unknown reason"));
  }

  const std::unique_ptr<archive, Freed<archive_write_free>> archive_{archive_write_new()};
  Fd file_;
};

}  // namespace

Result<std::unique_ptr<Bundle>> Bundle::create(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), kMyFolder) == 0) return std::unique_ptr<Bundle>(new Bundle(folder));
  if (errno == EEXIST) return already_exists(folder.string() + " exists");
  return disk_error(folder, errno);
}

void Bundle::add(const std::string& name, std::string_view bytes) {
  const std::filesystem::path path = folder_ / name;
  MutexLock lock(mutex_);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);  // below a folder that nobody else enters
  std::ofstream out(path, std::ios::binary | std::ios::app);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out.good() && disk_.ok()) disk_ = disk_error(path, errno);
  files_[name] += bytes.size();
}

void Bundle::note_failure(const std::string& name, const Status& status) {
  MutexLock lock(mutex_);
  failures_[name] = status.message();
}

size_t Bundle::failures() const {
  MutexLock lock(mutex_);
  return failures_.size();
}

Status Bundle::finish(nlohmann::json about) {
  {
    MutexLock lock(mutex_);
    about["Files"] = files_;
    about["Failures"] = failures_;
  }
  add(kIndex, about.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  MutexLock lock(mutex_);
  return disk_;
}

Status Bundle::pack(const std::filesystem::path& archive) const {
  Tar tar;
  DROVER_RETURN_IF_ERROR(tar.open(archive));
  const std::string top = folder_.filename().string() + "/";
  MutexLock lock(mutex_);
  for (const auto& [name, size] : files_) DROVER_RETURN_IF_ERROR(tar.add(folder_ / name, top + name, size));
  return tar.close();
}

std::string file_name(std::string_view name) {
  std::string safe(name);
  std::ranges::replace_if(safe, [](char c) { return !is_alphanumeric({&c, 1}, "-_."); }, '_');
  return safe.empty() || safe.starts_with('.') ? "_" + safe : safe;
}

}  // namespace drover::cli
