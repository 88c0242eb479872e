// Templates from text. The functions' names are known to the parser, so a wrong one is found before anything runs.
#pragma once

#include <string_view>

#include "drover/result.h"
#include "tree.h"

namespace drover::text_template {

// Errors: invalid_argument with the place.
Result<Trees> parse_trees(std::string_view text, const Syntax& syntax);

}  // namespace drover::text_template
