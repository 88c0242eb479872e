// How a person at a terminal leaves a command that does not end: the escape character at the beginning of a line, then
// a full stop. The character twice is the character once. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drover::cli {

class Escape {
 public:
  // Nothing: there is no way out.
  explicit Escape(std::optional<char> character) : character_(character) {}

  // Returns the part of the bytes that is input for the command.
  std::string read(std::string_view bytes);
  bool wants_out() const { return wants_out_; }

 private:
  const std::optional<char> character_;
  bool is_line_start_ = true;
  bool is_pending_ = false;  // the character was typed, and what it means is not yet clear
  bool wants_out_ = false;
};

// "~" as its flag has it; "none": nothing. Also nothing, with `is_valid` false, for what is no single character.
std::optional<char> parse_escape(const std::string& text, bool& is_valid);

}  // namespace drover::cli
