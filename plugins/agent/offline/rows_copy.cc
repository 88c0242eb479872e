#include "offline/rows_copy.h"

#include <fcntl.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>

#include "drover/fd.h"

namespace drover::agent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugin = "agent";  // by its manifest's name the rows are kept

Result<std::string> rows_folder(const std::string& data_dir) {
  for (const char* below : {"/local", ""}) {
    std::error_code error;
    if (fs::exists(data_dir + below + "/CURRENT", error)) return data_dir + below;
    if (error == std::errc::permission_denied) return errno_status(error.value(), "read " + data_dir + below);
  }
  return not_found(data_dir + ": no agent's rows are below it (local/CURRENT is missing); name the agent's data_dir");
}

// While this is held no agent opens the rows. A folder without the file is a copy of somebody's.
Result<Fd> lock(const std::string& folder) {
  const std::string path = folder + "/LOCK";
  Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file && errno == ENOENT) return file;
  if (!file) return errno_status(errno, "open " + path);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_SETLK, &whole) == 0) return file;
  if (errno != EAGAIN && errno != EACCES) return errno_status(errno, "lock " + path);
  if (::fcntl(file.get(), F_GETLK, &whole) != 0 || whole.l_type == F_UNLCK) whole.l_pid = 0;
  const std::string holder = whole.l_pid > 0 ? " (process " + std::to_string(whole.l_pid) + ")" : "";
  return failed_precondition("an agent" + holder + " is using " + folder + "; stop it first");
}

// LevelDB's notes of what it did are not needed.
Status copy_rows(const std::string& from, const std::string& to) {
  std::error_code error;
  for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (name == "LOCK" || name.starts_with("LOG") || !at->is_regular_file(error)) continue;
    if (error || !fs::copy_file(at->path(), to + "/" + name, error)) break;
  }
  return error ? errno_status(error.value(), "copy " + from + " to " + to) : ok_status();
}

}  // namespace

RowsCopy::~RowsCopy() {
  rows_.reset();
  database_.reset();
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<std::unique_ptr<RowsCopy>> RowsCopy::make(const std::string& data_dir) {
  DROVER_TRY(const std::string from, rows_folder(data_dir));
  std::unique_ptr<RowsCopy> copy(new RowsCopy);
  std::error_code error;
  std::string folder = fs::temp_directory_path(error) / "drover-client-state-XXXXXX";
  if (error || !::mkdtemp(folder.data())) return errno_status(error ? error.value() : errno, "create " + folder);
  copy->folder_ = folder;
  {
    DROVER_TRY(const Fd held, lock(from));
    DROVER_RETURN_IF_ERROR(copy_rows(from, folder));
  }
  DROVER_TRY(copy->database_, LocalDatabase::open(folder).with_context(from + ", read from a copy"));
  copy->rows_ = copy->database_->space(kPlugin);
  return copy;
}

}  // namespace drover::agent
