#include "fetcher/fetch.h"

#include <glob.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fetcher/digest.h"
#include "fetcher/http.h"
#include "fetcher/repository.h"
#include "fetcher/unpack.h"

namespace drover::artifacts {
namespace {

namespace fs = std::filesystem;

Status failure(const std::error_code& error, const std::string& doing) { return errno_status(error.value(), doing); }

Result<std::string> folder_in(const std::string& scratch, const char* name) {
  const std::string path = scratch + "/" + name;
  std::error_code error;
  fs::create_directory(path, error);
  if (error) return failure(error, "create " + path);
  return path;
}

// Into the place of what has that name there; also over the end of a file system.
Status move_over(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove_all(to, error);
  fs::rename(from, to, error);
  if (!error) return ok_status();
  error.clear();
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
  return error ? failure(error, "write " + to.filename().string()) : ok_status();
}

Status move_all(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error)) {
    DROVER_RETURN_IF_ERROR(move_over(at->path(), to / at->path().filename()));
  }
  return error ? failure(error, "read " + from.string()) : ok_status();
}

// The part of what was fetched that is wanted; it may be a pattern that fits one path.
Result<fs::path> part_of(const std::string& folder, const std::string& part) {
  glob_t found{};
  const int code = ::glob((folder + "/" + part).c_str(), 0, nullptr, &found);
  const size_t count = code == 0 ? found.gl_pathc : 0;
  const fs::path path = count == 1 ? fs::path(found.gl_pathv[0]) : fs::path();
  ::globfree(&found);
  if (count == 1) return path;
  return invalid_argument("subdirectory \"" + part + "\" " + (count == 0 ? "not found" : "matches several paths"));
}

// The one file below the folder.
Result<fs::path> only_file(const fs::path& folder, const std::string& source) {
  fs::path only;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_symlink() || !entry.is_regular_file()) continue;
    if (!only.empty()) return invalid_argument("expected a single file, got multiple: " + source);
    only = entry.path();
  }
  if (only.empty()) return invalid_argument("expected a single file: " + source);
  return only;
}

class Fetch {
 public:
  Fetch(const Request& request, const std::string& target) : request_(request), target_(target) {}

  Status run() {
    const bool is_repository = request_.getter == "git" || request_.getter == "hg";
    return is_repository ? from_repository() : from_file();
  }

 private:
  Status from_repository() const {
    if (!request_.option("checksum").empty())
      return invalid_argument("checksum cannot be specified for directory download");
    if (request_.mode == "file") return invalid_argument("a repository is a folder: mode \"file\" takes none");
    if (request_.part.empty()) return fetch_repository(request_, target_);
    DROVER_TRY(const std::string folder, folder_in(request_.scratch, "repository"));
    DROVER_RETURN_IF_ERROR(fetch_repository(request_, folder));
    return place(folder);
  }

  Status from_file() const {
    std::string name = file_name_of(request_.url);
    if (const std::string said = request_.option("filename"); !said.empty()) {
      if (said.find('/') != std::string::npos || said == ".." || said == ".")
        return invalid_argument("filename query parameter contain path traversal: " + said);
      name = said;
    }
    if (name.empty()) return invalid_argument("the address names no file; give one by options { filename = \"…\" }");
    const std::string form = archive_form(file_name_of(request_.url), request_.option("archive"));
    if (request_.mode == "dir" && form.empty())
      return invalid_argument("mode \"dir\" takes an archive: " + request_.url);
    if (is_single_file(form) && request_.mode == "dir")
      return invalid_argument(form + "-compressed files can only unarchive to a single file");
    const std::string path = request_.scratch + "/download";
    DROVER_RETURN_IF_ERROR(download(request_, request_.url, path));
    DROVER_RETURN_IF_ERROR(verify(path, file_name_of(request_.url)));
    if (form.empty()) return place_file(path, request_.mode == "file" ? request_.file_name : name);
    return place_archive(path, form, name);
  }

  Status verify(const std::string& path, const std::string& name) const {
    const std::string text = request_.option("checksum");
    if (text.empty()) return ok_status();
    if (!text.starts_with("file:")) {
      DROVER_TRY(const Checksum wanted, parse_checksum(text));
      return check_file(path, wanted);
    }
    const std::string url = text.substr(5);
    const std::string sums = request_.scratch + "/sums";
    DROVER_RETURN_IF_ERROR(download(request_, url, sums).with_context("checksum"));
    std::ifstream file(sums, std::ios::binary);
    const std::string list{std::istreambuf_iterator<char>(file), {}};
    const auto wanted = find_checksum(list, name);
    if (!wanted) return invalid_argument("no checksum found in: " + url);
    return check_file(path, *wanted);
  }

  Status place_file(const std::string& path, const std::string& name) const {
    fs::permissions(path, fs::perms(0644));
    return move_over(path, fs::path(target_) / name);
  }

  Status place_archive(const std::string& path, const std::string& form, const std::string& name) const {
    DROVER_TRY(const std::string folder, folder_in(request_.scratch, "unpacked"));
    const std::string inner = is_single_file(form) && name.ends_with("." + form)
                                  ? name.substr(0, name.size() - form.size() - 1)
                                  : name;
    DROVER_RETURN_IF_ERROR(unpack(path, form, folder, inner, {request_.most_files, request_.most_unpacked_bytes}));
    if (request_.mode == "file" && request_.part.empty()) {
      DROVER_TRY(const fs::path only, only_file(folder, request_.url));
      return move_over(only, fs::path(target_) / request_.file_name);
    }
    return place(folder);
  }

  // What is wanted of a folder.
  Status place(const std::string& folder) const {
    if (request_.part.empty()) return move_all(folder, target_);
    DROVER_TRY(const fs::path part, part_of(folder, request_.part));
    if (request_.mode == "file") return move_over(part, fs::path(target_) / request_.file_name);
    if (fs::is_directory(part)) return move_all(part, target_);
    return move_over(part, fs::path(target_) / part.filename());
  }

  const Request& request_;
  const std::string target_;
};

}  // namespace

std::string file_name_of(const std::string& url) {
  std::string path = url.substr(0, url.find_first_of("?#"));
  if (const size_t scheme = path.find("://"); scheme != std::string::npos) {
    const size_t slash = path.find('/', scheme + 3);
    path = slash == std::string::npos ? "" : path.substr(slash);
  }
  const std::string name = path.substr(path.rfind('/') + 1);
  return name == "." || name == ".." ? "" : name;
}

Status fetch(const Request& request, const std::string& target) { return Fetch(request, target).run(); }

}  // namespace drover::artifacts
