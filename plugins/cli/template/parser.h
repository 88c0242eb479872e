// Templates from text. The functions' names are known to the parser, so a wrong one is found before anything runs.
#pragma once

#include <string_view>

#include "drover/result.h"
#include "tree.h"

namespace drover::cli {

// Errors: invalid_argument with the place.
Result<TemplateTrees> parse_template(std::string_view text);

// A number as the language writes it: an integer in base 2, 8, 10 or 16, or a fraction; null when it is none.
nlohmann::json number_of(std::string_view text);

}  // namespace drover::cli
