// A template as a row of tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"
#include "tree.h"

namespace drover::text_template {

struct Token {
  // field: ".Name"; variable: "$name" or "$"; mark: one of | ( ) , := =
  enum class Kind { text, open, close, word, field, dot, variable, string, character, number, mark, end };
  Kind kind = Kind::end;
  std::string text;  // a string's or character's is decoded
  Place place;
  bool has_space = false;  // stands in front of it
};

// Errors: invalid_argument with the place.
Result<std::vector<Token>> tokens_of(std::string_view text, const Syntax& syntax);

Status template_error(const Place& place, const std::string& problem);

}  // namespace drover::text_template
