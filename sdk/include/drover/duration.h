// Durations as text, in Go's form: "1h30m", "250ms", "1.5s"; printed as "1h30m0s".
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

// Units: ns, us, µs, ms, s, m, h. Errors: invalid_argument.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace drover
