// How values become text: print, println and printf with the verbs and the complaints of Go's fmt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tree.h"

namespace drover::cli {

std::string printed(const nlohmann::json& value);               // %v
std::string print_all(std::span<const TemplateValue> values);   // spaces between what is not text
std::string print_line(std::span<const TemplateValue> values);  // spaces between all, and a new line
std::string print_format(std::string_view format, std::span<const TemplateValue> values);
std::string_view type_of(const nlohmann::json& value);  // int, []interface {}, …

// One character of UTF-8 text; a byte that begins none counts as one, is_valid says so. Requires: text is not empty.
struct Character {
  uint32_t point = 0xfffd;
  size_t size = 1;
  bool is_valid = false;
};
Character first_character(std::string_view text);
void append_character(std::string& out, uint32_t point);

}  // namespace drover::cli
