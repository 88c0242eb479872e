// The operations on numbers that format() and the functions need beyond the public header.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "drover/hcl_value.h"

namespace drover::hcl {

Number floor(const Number& number);
Number ceil(const Number& number);

// "ff" in base 16: a sign and digits, exact however many there are. Digits are 0 to 9, then letters: of either case up
// to base 36, beyond it small ones before capitals. Nothing when the text is anything else or out of range.
std::optional<Number> parse_whole(std::string_view text, int base);  // base: 2 to 62

// Digits of a whole number in base 2, 8, 10 or 16 with a sign where it is negative; nothing when it has a fraction.
std::optional<std::string> whole_text(const Number& number, int base);

// As printf: `form` is one of e E f g G; a precision below zero asks for the shortest text that stands for the number.
std::string formatted(const Number& number, char form, int precision);

}  // namespace drover::hcl
