// Reads filter expressions. Pure.
#pragma once

#include <memory>
#include <string_view>

#include "drover/result.h"
#include "expression.h"

namespace drover::filter {

// Errors: as Filter::parse.
Result<std::unique_ptr<const Expression>> parse(std::string_view text);

}  // namespace drover::filter
