#include "escape.h"

namespace drover::cli {

std::string Escape::read(std::string_view bytes) {
  if (!character_) return std::string(bytes);
  std::string out;
  for (const char c : bytes) {
    if (wants_out_) break;
    if (is_pending_) {
      is_pending_ = false;
      if (c == '.') {
        wants_out_ = true;
        break;
      }
      out += *character_;
      if (c == *character_) {
        is_line_start_ = false;
        continue;
      }
    } else if (is_line_start_ && c == *character_) {
      is_pending_ = true;
      continue;
    }
    out += c;
    is_line_start_ = c == '\r' || c == '\n';
  }
  return out;
}

std::optional<char> parse_escape(const std::string& text, bool& is_valid) {
  is_valid = text.size() == 1 || text == "none" || text.empty();
  if (text.size() != 1) return {};
  return text.front();
}

}  // namespace drover::cli
