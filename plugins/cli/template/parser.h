// Templates from text. The functions' names are known to the parser, so a wrong one is found before anything runs.
#pragma once

#include <string_view>

#include "drover/result.h"
#include "tree.h"

namespace drover::cli {

// Errors: invalid_argument with the place.
Result<TemplateTrees> parse_template(std::string_view text);

}  // namespace drover::cli
