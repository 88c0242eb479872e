// The little Unicode that the language needs: decoding UTF-8 and telling letters from other characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drover::hcl {

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;  // zero when the text does not begin with valid UTF-8
};

CodePoint decode_utf8(std::string_view text);
bool is_utf8(std::string_view text);
void append_utf8(std::string& text, uint32_t code_point);  // an invalid one becomes U+FFFD

bool begins_identifier(uint32_t code_point);
bool continues_identifier(uint32_t code_point);

}  // namespace drover::hcl
