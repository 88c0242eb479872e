#include "script.h"

#include <algorithm>
#include <fstream>

namespace drover::raft::etcd {
namespace {

constexpr const char* kPackage = "/usr/share/gocode/src/go.etcd.io/etcd/raft";

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// "a, b" without its parentheses.
std::vector<std::string> elements_of(const std::string& text) {
  std::vector<std::string> elements(1);
  for (const char c : text) {
    if (c == ',') {
      elements.emplace_back();
    } else if (!is_blank(c)) {
      elements.back() += c;
    }
  }
  if (elements.size() == 1 && elements[0].empty()) elements.clear();
  return elements;
}

void read_command(const std::string& line, Step& step) {
  for (size_t at = 0; at < line.size();) {
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    const size_t end = std::min(line.find_first_of(" =", at), line.size());
    const std::string word = line.substr(at, end - at);
    at = end;
    if (at == line.size() || line[at] != '=') {
      step.command.empty() ? void(step.command = word) : step.words.push_back(word);
      continue;
    }
    const bool is_list = at + 1 < line.size() && line[at + 1] == '(';
    const size_t first = at + (is_list ? 2 : 1);
    const size_t last = std::min(line.find(is_list ? ')' : ' ', first), line.size());
    step.lists[word] = elements_of(line.substr(first, last - first));
    at = std::min(last + 1, line.size());
  }
}

}  // namespace

std::filesystem::path folder_of(const std::string& part) { return std::filesystem::path(kPackage) / part / "testdata"; }

std::vector<std::filesystem::path> scripts_of(const std::string& part) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(part))) {
    if (entry.path().extension() == ".txt") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

std::vector<Step> read_script(const std::filesystem::path& path) {
  std::vector<Step> steps;
  std::ifstream in(path);
  enum class Part { before, input, output } part = Part::before;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (part == Part::before) {
      if (line.empty() || line[0] == '#') continue;
      steps.push_back({.line = number});
      read_command(line, steps.back());
      part = Part::input;
    } else if (part == Part::input) {
      if (line == "----") {
        part = Part::output;
      } else {
        steps.back().input += line + "\n";
      }
    } else if (line.empty()) {
      part = Part::before;
    } else {
      steps.back().expected.push_back(line);
    }
  }
  return steps;
}

}  // namespace drover::raft::etcd
