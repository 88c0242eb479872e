// The source tree as the checks of this folder see it. Test only.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace drover::architecture {

struct SourceFile {
  std::string path;  // from the root, "kernel/main.cc"
  std::string text;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

// The files below `folder` with one of these extensions, in the order of their paths.
inline std::vector<SourceFile> files_below(const std::string& folder, const std::vector<std::string>& extensions) {
  namespace fs = std::filesystem;
  const fs::path root = DROVER_SOURCE_ROOT;
  std::vector<SourceFile> files;
  if (!fs::exists(root / folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
    if (!entry.is_regular_file()) continue;
    if (std::ranges::find(extensions, entry.path().extension().string()) == extensions.end()) continue;
    files.push_back({entry.path().lexically_relative(root).string(), read_text(entry.path())});
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

// All C and C++ files of the tree.
inline std::vector<SourceFile> sources() {
  std::vector<SourceFile> all;
  for (const char* folder :
       {"sdk", "storage", "kernel", "plugins", "drivers", "csi", "devices", "checks", "auth", "examples", "tests"}) {
    for (SourceFile& file : files_below(folder, {".h", ".cc", ".c"})) all.push_back(std::move(file));
  }
  return all;
}

inline std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts(1);
  for (char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

struct Include {
  std::string name;
  bool is_quoted = false;
  int line = 0;
};

inline std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> found;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    const auto skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
    skip_blanks();
    if (!line.starts_with('#')) continue;
    line.remove_prefix(1);
    skip_blanks();
    if (!line.starts_with("include")) continue;
    line.remove_prefix(7);
    skip_blanks();
    if (line.empty() || (line[0] != '"' && line[0] != '<')) continue;
    const size_t end = line.find(line[0] == '"' ? '"' : '>', 1);
    if (end != std::string_view::npos) found.push_back({std::string(line.substr(1, end - 1)), line[0] == '"', number});
  }
  return found;
}

// "a\nb\n", for the text of a failed expectation.
inline std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& line : all) text += line + "\n";
  return text;
}

}  // namespace drover::architecture
