#include "sdk/testing/task_root.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

namespace drover {
namespace {

namespace fs = std::filesystem;

std::string where_is(const std::string& program) {
  if (program.starts_with('/')) return program;
  for (const char* folder : {"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/"}) {
    if (::access((folder + program).c_str(), X_OK) == 0) return folder + program;
  }
  return {};
}

// The paths that ldd names for a program; none for one that needs none.
std::set<std::string> libraries_of(const std::string& program) {
  std::set<std::string> found;
  FILE* const out = ::popen(("exec ldd '" + program + "' 2> /dev/null").c_str(), "re");
  if (!out) return found;
  char line[4096];
  while (std::fgets(line, sizeof line, out)) {
    const std::string text = line;
    const size_t begin = text.find('/'), end = text.find(" (", begin);
    if (begin != std::string::npos && end != std::string::npos) found.insert(text.substr(begin, end - begin));
  }
  ::pclose(out);
  return found;
}

// Asking costs a process each, and every check of the kit makes a root.
std::set<std::string> known_libraries_of(const std::string& program) {
  static std::mutex mutex;
  static std::map<std::string, std::set<std::string>> known;
  const std::lock_guard lock(mutex);
  const auto at = known.find(program);
  return at != known.end() ? at->second : known.emplace(program, libraries_of(program)).first->second;
}

Status lay(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::create_directories(fs::path(to).parent_path(), error);
  if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST) return {};
  fs::copy_file(from, to, fs::copy_options::skip_existing, error);
  return error ? errno_status(error.value(), "copy " + from + " to " + to) : ok_status();
}

}  // namespace

Status lay_in_root(const std::string& folder, const std::string& file) { return lay(file, folder + file); }

Status make_task_root(const std::string& folder, const std::vector<std::string>& programs) {
  for (const std::string& program : programs) {
    const std::string path = where_is(program);
    if (path.empty()) continue;
    DROVER_RETURN_IF_ERROR(lay(path, folder + "/bin/" + fs::path(path).filename().string()));
    for (const std::string& library : known_libraries_of(path)) DROVER_RETURN_IF_ERROR(lay(library, folder + library));
  }
  std::error_code ignored;
  fs::create_directories(folder + "/etc", ignored);
  std::ofstream(folder + "/etc/passwd") << "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n";
  std::ofstream(folder + "/etc/group") << "root:x:0:\nnogroup:x:65534:\n";
  return ok_status();
}

}  // namespace drover
