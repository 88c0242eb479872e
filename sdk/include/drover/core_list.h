// Lists of processors as Linux writes them: "0-3,7". Pure. [any]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover {

// Numbers of processors, ascending, each once.
using CoreList = std::vector<uint32_t>;

// Blanks around the parts do not count; an empty text is an empty list. Errors: invalid_argument with the part that is
// neither a number nor a range.
Result<CoreList> parse_core_list(std::string_view text);
// "0-3,7"
std::string format_core_list(const CoreList& cores);
// Those of `cores` that are not among `others`.
CoreList without(const CoreList& cores, const CoreList& others);

}  // namespace drover
