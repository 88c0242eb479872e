// How values become text: print, println and printf with the verbs and the complaints of Go's fmt.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tree.h"

namespace drover::text_template {

std::string print_all(std::span<const Value> values);   // spaces between what is not text
std::string print_line(std::span<const Value> values);  // spaces between all, and a new line
std::string print_format(std::string_view format, std::span<const Value> values);

}  // namespace drover::text_template
