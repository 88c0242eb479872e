// When a periodic job is launched next. Pure but for the time zones, which are the machine's.
#pragma once

#include <cstdint>
#include <optional>

#include "drover/result.h"

namespace drover::v1 {
class PeriodicConfig;
}

namespace drover {

// The first launch after `now`, in nanoseconds since 1970, by whichever of its expressions is due first; nothing when
// it is off or none of them is due any more. Errors: invalid_argument for an expression or a zone that cannot be read.
Result<std::optional<int64_t>> next_launch(const v1::PeriodicConfig& periodic, int64_t now);

}  // namespace drover
