#include "drover/printable.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "../encoding/utf8.h"

namespace drover {

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8::character_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const auto last = static_cast<unsigned char>(text[std::max<size_t>(length, 1) - 1]);
    const bool is_control = length == 1 ? first < 0x20 || first == 0x7f : length == 2 && first == 0xc2 && last < 0xa0;
    if (is_control) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", last);
      out += first == '\n' ? "\\n" : first == '\t' ? "\\t" : code.data();
    } else {
      out += length == 0 ? utf8::kReplacement : text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace drover
