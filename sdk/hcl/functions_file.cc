// Functions that look at files, for job files that a person reads on their own machine.
#include <fnmatch.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "drover/base64.h"
#include "functions.h"
#include "unicode.h"

namespace drover::hcl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNames[] = {"abspath",    "basename",   "dirname", "file",
                                       "filebase64", "fileexists", "fileset", "pathexpand"};
constexpr size_t kMaxFiles = 100'000;

// "~" and "~/…" name the home folder.
Result<std::string> expand_home(std::string path) {
  if (!path.starts_with('~')) return path;
  if (path.size() > 1 && path[1] != '/') return invalid_argument("the home folder of another user is not known here");
  const char* home = std::getenv("HOME");
  if (!home || !*home) return invalid_argument("the home folder is not known: HOME is not set");
  return home + path.substr(1);
}

class Files {
 public:
  explicit Files(fs::path folder) : folder_(std::move(folder)) {}

  Result<Value> exists(Arguments arguments) const {
    DROVER_TRY(fs::path path, path_argument(arguments, 0));
    std::error_code error;
    fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return Value(false);
    if (!fs::is_regular_file(status)) return invalid_argument(path.string() + " is not a regular file");
    return Value(true);
  }

  Result<Value> text(Arguments arguments) const {
    DROVER_TRY(std::string bytes, read(arguments));
    if (!is_utf8(bytes)) return invalid_argument("the file is not UTF-8 text; use filebase64");
    return Value(std::move(bytes));
  }

  Result<Value> base64(Arguments arguments) const {
    DROVER_TRY(std::string bytes, read(arguments));
    return Value(base64_encode(bytes));
  }

  // fileset(folder, pattern): the regular files that match, relative to the folder. `*` and `?` match inside of one
  // part of a path, `**` any number of parts.
  Result<Value> set(Arguments arguments) const {
    DROVER_TRY(fs::path root, path_argument(arguments, 0));
    DROVER_TRY(std::string pattern, text_argument(arguments, 1));
    std::vector<fs::path> parts;
    for (const fs::path& part : fs::path(pattern).lexically_normal()) parts.push_back(part);
    List found;
    size_t seen = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
      if (++seen > kMaxFiles) return resource_exhausted("the folder holds too many files");
      if (!at->is_regular_file(error)) continue;
      fs::path relative = at->path().lexically_relative(root);
      std::vector<fs::path> names(relative.begin(), relative.end());
      if (matches(parts, names)) found.push_back(relative.generic_string());
    }
    return Value(as_set(std::move(found)), Shape::set);
  }

 private:
  using Parts = std::span<const fs::path>;
  static bool matches(Parts pattern, Parts names) {
    if (pattern.empty()) return names.empty();
    if (pattern[0] == "**") {
      for (size_t skip = 0; skip <= names.size(); ++skip) {
        if (matches(pattern.subspan(1), names.subspan(skip))) return true;
      }
      return false;
    }
    return !names.empty() && fnmatch(pattern[0].c_str(), names[0].c_str(), FNM_PATHNAME) == 0 &&
           matches(pattern.subspan(1), names.subspan(1));
  }

  Result<fs::path> path_argument(Arguments arguments, size_t i) const {
    DROVER_TRY(std::string text, text_argument(arguments, i));
    DROVER_TRY(text, expand_home(std::move(text)));
    return folder_ / text;
  }

  Result<std::string> read(Arguments arguments) const {
    DROVER_TRY(fs::path path, path_argument(arguments, 0));
    std::error_code error;
    fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) return invalid_argument("there is no file " + path.string());
    if (!fs::is_regular_file(status)) return invalid_argument(path.string() + " is not a regular file");
    std::ifstream file(path, std::ios::binary);
    std::string bytes(kMaxSourceBytes + 1, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (file.bad() || (!file && !file.eof())) return invalid_argument("cannot read " + path.string());
    if (static_cast<size_t>(file.gcount()) > kMaxSourceBytes) return invalid_argument(path.string() + " is too large");
    bytes.resize(static_cast<size_t>(file.gcount()));
    return bytes;
  }

  fs::path folder_;
};

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

Result<Value> base_name(Arguments arguments) {
  DROVER_TRY(std::string path, text_argument(arguments, 0));
  if (path.empty()) return Value(".");
  path = without_trailing_slashes(std::move(path));
  return Value(path == "/" ? path : path.substr(path.rfind('/') + 1));
}

Result<Value> dir_name(Arguments arguments) {
  DROVER_TRY(std::string path, text_argument(arguments, 0));
  size_t slash = path.rfind('/');
  if (slash == std::string::npos) return Value(".");
  return Value(without_trailing_slashes(fs::path(path.substr(0, slash + 1)).lexically_normal().string()));
}

Result<Value> path_expand(Arguments arguments) {
  DROVER_TRY(std::string path, text_argument(arguments, 0));
  DROVER_TRY(path, expand_home(std::move(path)));
  return Value(std::move(path));
}

// As the process sees it, not as the file does: paths of the command line and of abspath mean the same.
Result<Value> abs_path(Arguments arguments) {
  DROVER_TRY(std::string path, text_argument(arguments, 0));
  std::error_code error;
  fs::path whole = fs::absolute(path.empty() ? "." : path, error);
  if (error) return invalid_argument("the working folder is not known: " + error.message());
  return Value(without_trailing_slashes(whole.lexically_normal().string()));
}

}  // namespace

Functions file_functions(const std::string& folder) {
  auto files = std::make_shared<const Files>(folder);
  Functions functions;
  functions["abspath"] = with_count(1, 1, abs_path);
  functions["basename"] = with_count(1, 1, base_name);
  functions["dirname"] = with_count(1, 1, dir_name);
  functions["pathexpand"] = with_count(1, 1, path_expand);
  functions["file"] = with_count(1, 1, [files](Arguments arguments) { return files->text(arguments); });
  functions["filebase64"] = with_count(1, 1, [files](Arguments arguments) { return files->base64(arguments); });
  functions["fileexists"] = with_count(1, 1, [files](Arguments arguments) { return files->exists(arguments); });
  functions["fileset"] = with_count(2, 2, [files](Arguments arguments) { return files->set(arguments); });
  return functions;
}

Functions disabled_file_functions() {
  Functions functions;
  for (std::string_view name : kNames) {
    functions[std::string(name)] = [](Arguments) -> Result<Value> {
      return failed_precondition("filesystem function disabled");
    };
  }
  return functions;
}

}  // namespace drover::hcl
