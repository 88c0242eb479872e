// Texts that come from outside and stand in one line of a log, a table or a variable. Pure. [any]
#pragma once

#include <algorithm>
#include <string_view>

namespace drover {

// False for one with control characters.
inline bool is_plain_text(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

}  // namespace drover
