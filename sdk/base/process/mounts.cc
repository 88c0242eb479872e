#include "drover/mounts.h"

#include <algorithm>

namespace drover {
namespace {

constexpr size_t kPathField = 4;

bool is_octal(char digit) { return digit >= '0' && digit <= '7'; }

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

}  // namespace

std::string unescape_mount(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && is_octal(text[i + 1]) && is_octal(text[i + 2]) &&
                           is_octal(text[i + 3]);
    if (!is_escape) {
      out += text[i];
      continue;
    }
    out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return out;
}

// "36 35 98:0 / /mnt rw,noatime shared:1 - ext3 /dev/root rw": optional fields stand before the dash.
std::vector<MountPoint> parse_mountinfo(std::string_view text) {
  std::vector<MountPoint> mounts;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    size_t dash = kPathField + 1;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 3 >= words.size()) continue;
    mounts.push_back({.path = unescape_mount(words[kPathField]),
                      .type = unescape_mount(words[dash + 1]),
                      .source = unescape_mount(words[dash + 2]),
                      .options = std::string(words[dash + 3])});
  }
  return mounts;
}

}  // namespace drover
