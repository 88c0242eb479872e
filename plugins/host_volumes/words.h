// Names that come from outside. Pure. [any]
#pragma once

#include <algorithm>
#include <string_view>

namespace drover::host_volumes {

inline bool is_plain(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// True for one that may be a file's in a folder, and leads nowhere else.
inline bool is_file_name(std::string_view text) {
  constexpr size_t kLongest = 128;
  return !text.empty() && text.size() <= kLongest && text != "." && text != ".." && is_plain(text) &&
         text.find('/') == std::string_view::npos;
}

}  // namespace drover::host_volumes
