// Durations as operators write them, in Go's form: "1h30m", "250ms", "1.5s", "-2m". Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

// One or more decimal numbers with a unit each: ns, us (µs, μs), ms, s, m, h; an optional sign in front; "0" alone.
// Errors: invalid_argument with the text; also when it does not fit 64 bits of nanoseconds.
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

// "1h0m0s", "1m30s", "1.5s", "250ms", "0s": the units and zeros that Go prints.
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace drover
