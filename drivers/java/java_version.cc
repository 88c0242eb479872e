#include "java_version.h"

#include <algorithm>
#include <vector>

#include "drover/trim.h"

namespace drover::java {
namespace {

constexpr std::string_view kPickedUp = "Picked up ", kOfVersion = "0123456789._";

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trim(text.substr(begin, end - begin));
    if (!line.starts_with(kPickedUp)) lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

std::string_view version_in(std::string_view line) {
  const size_t begin = line.find_first_of(kOfVersion);
  if (begin == std::string_view::npos) return line;
  return line.substr(begin, line.find_first_not_of(kOfVersion, begin) - begin);
}

}  // namespace

JavaVersion parse_version(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(trim(text));
  if (lines.size() < 3) return {};
  return {.version = std::string(version_in(lines[0])), .runtime = std::string(lines[1]), .vm = std::string(lines[2])};
}

}  // namespace drover::java
