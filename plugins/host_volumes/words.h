// Names that come from outside. Pure. [any]
#pragma once

#include <string_view>

#include "drover/plain_text.h"

namespace drover::host_volumes {

// True for one that may be a file's in a folder, and leads nowhere else.
inline bool is_file_name(std::string_view text) {
  constexpr size_t kLongest = 128;
  return !text.empty() && text.size() <= kLongest && text != "." && text != ".." && is_plain_text(text) &&
         text.find('/') == std::string_view::npos;
}

}  // namespace drover::host_volumes
