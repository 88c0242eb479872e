// drover fmt: the one layout for job files, variable files and configuration.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>

#include "cli_command.h"
#include "drover/hcl.h"

namespace drover::cli {
namespace {

namespace fs = std::filesystem;

bool is_ours(const fs::path& path) { return path.extension() == ".hcl" || path.extension() == ".nomad"; }

class Formatting {
 public:
  explicit Formatting(Run& run)
      : run_(run), writes_(run.arguments.on("write") && !run.arguments.on("check")), lists_(run.arguments.on("list")) {}

  int all(std::vector<std::string> paths) {
    if (paths.empty()) paths.push_back(".");
    for (const std::string& path : paths) {
      if (path == "-") {
        standard_input();
      } else {
        path_on_disk(path);
      }
    }
    if (has_failed_) return 1;
    return run_.arguments.on("check") && has_changes_ ? 1 : 0;
  }

 private:
  void fail(const std::string& text) {
    run_.err << "Error: " << text << "\n";
    has_failed_ = true;
  }

  // Nothing after an error, which has been told.
  std::optional<std::string> formatted(const std::string& name, const std::string& text) {
    Result<std::string> result = hcl::format(name, text);
    if (!result) return fail(result.status().message()), std::nullopt;
    has_changes_ = has_changes_ || *result != text;
    return *std::move(result);
  }

  void standard_input() {
    std::string text{std::istreambuf_iterator<char>(run_.host.in()), {}};
    std::optional<std::string> result = formatted("<stdin>", text);
    if (result && !run_.arguments.on("check")) run_.out << *result;
  }

  void path_on_disk(const fs::path& path) {
    std::error_code error;
    fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) return folder(path);
    if (!fs::is_regular_file(status)) return fail("no file or folder at path " + path.string());
    if (!is_ours(path)) return fail("only .nomad and .hcl files can be formatted: " + path.string());
    file(path);
  }

  void folder(const fs::path& path) {
    std::error_code error;
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) found.push_back(entry.path());
    if (error) return fail("cannot read " + path.string() + ": " + error.message());
    std::ranges::sort(found);
    for (const fs::path& each : found) {
      fs::path shown = path == "." ? each.filename() : each;
      fs::file_status status = fs::symlink_status(each, error);
      if (fs::is_directory(status)) {
        bool is_hidden = each.filename().string().starts_with('.');
        if (run_.arguments.on("recursive") && !is_hidden) folder(shown);
      } else if (fs::is_regular_file(status) && is_ours(each)) {
        file(shown);
      }
    }
  }

  void file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) return fail("cannot read " + path.string());
    std::optional<std::string> result = formatted(path.string(), text);
    if (!result || *result == text) return;
    if (lists_) run_.out << path.string() << "\n";
    if (writes_) write(path, *result);
    if (!lists_ && !writes_ && !run_.arguments.on("check")) run_.out << *result;
  }

  // A neighbour first, then one rename: a crash leaves the old file or the new one.
  void write(const fs::path& path, const std::string& text) {
    fs::path temporary = path;
    temporary += ".fmt-tmp";
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out << text;
    out.close();
    std::error_code error;
    fs::permissions(temporary, fs::status(path, error).permissions(), error);
    if (out) fs::rename(temporary, path, error);
    if (out && !error) return;
    fs::remove(temporary, error);
    fail("cannot write " + path.string());
  }

  Run& run_;
  bool writes_;
  bool lists_;
  bool has_changes_ = false;
  bool has_failed_ = false;
};

}  // namespace

std::vector<Definition> fmt_commands() {
  Flag lists = on_off("list", "Print the names of the files that change; on unless switched off");
  lists.fallback = "true";
  Flag writes = on_off("write", "Write the result back to the files; on unless switched off");
  writes.fallback = "true";
  return {{"fmt",
           "Rewrites job files and configuration to the one layout.",
           "[<path>…]",
           "  A path names a .nomad or .hcl file, or a folder with some; \"-\" formats standard input to\n"
           "  standard output. Without a path it is the working folder.\n",
           {on_off("check", "Change nothing; the exit code is 1 when a file is not in that layout"),
            on_off("recursive", "Folders inside of folders as well"), std::move(lists), std::move(writes)},
           0,
           1000,
           [](Run& run) { return Formatting(run).all(run.arguments.positional()); }}};
}

}  // namespace drover::cli
