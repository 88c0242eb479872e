// Points in time as text: RFC 3339 with up to nine fractional digits, always printed in UTC.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

// 1700000000123456789 → "2023-11-14T22:13:20.123456789Z"
std::string format_time(int64_t nanoseconds_since_1970);
// Any offset is accepted. Errors: invalid_argument.
Result<int64_t> parse_time(std::string_view text);

}  // namespace drover
