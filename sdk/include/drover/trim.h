// Text without the blanks around it. Pure. [any]
#pragma once

#include <algorithm>
#include <string_view>

namespace drover {

// `blanks`: every character that is cut off at both ends.
inline std::string_view trim(std::string_view text, std::string_view blanks = " \t\r\n") {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

}  // namespace drover
