// The little Unicode that the language needs: decoding UTF-8, telling letters from other characters, letter case,
// normalization, and what a reader takes for one character (a grapheme cluster). Tables are utf8proc's; only
// unicode.cc includes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drover::hcl {

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;  // zero when the text does not begin with valid UTF-8
};

CodePoint decode_utf8(std::string_view text);
bool is_utf8(std::string_view text);
void append_utf8(std::string& text, uint32_t code_point);  // an invalid one becomes U+FFFD

uint32_t to_upper(uint32_t code_point);
uint32_t to_lower(uint32_t code_point);
// Normal form C: an accent is part of its letter where Unicode has such a letter. Text that is not UTF-8 stays as it
// is.
std::string to_nfc(std::string text);
// Splits a text where a reader sees one character each. A byte that is not UTF-8 counts as one.
std::vector<std::string_view> characters(std::string_view text);

bool is_space_separator(uint32_t code_point);  // Unicode's category Zs
bool begins_identifier(uint32_t code_point);
bool continues_identifier(uint32_t code_point);

}  // namespace drover::hcl
