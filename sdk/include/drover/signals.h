// Signals by name, as jobs and operators write them: "SIGHUP", "hup" and "1" are the same. Pure.
#pragma once

#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

// Errors: invalid_argument for anything that is no signal of this system.
Result<int> parse_signal(std::string_view name);

// "SIGHUP"; real-time and unknown ones by number.
std::string signal_name(int number);

}  // namespace drover
