// Text without the blanks around it. Pure.
#pragma once

#include <algorithm>
#include <string_view>

namespace drover::agent {

// `blanks`: every character that is cut off at both ends.
inline std::string_view trim(std::string_view text, std::string_view blanks) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  text.remove_suffix(text.size() - (text.find_last_not_of(blanks) + 1));
  return text;
}

}  // namespace drover::agent
