// In which order plugins are declared and started: every capability before those who require it. Pure.
#pragma once

#include <vector>

#include "drover/manifest.h"
#include "drover/result.h"

namespace drover {

// Indexes into `plugins`; among the free ones the order of names. Errors: failed_precondition naming a missing
// capability and who requires it, two providers of one capability, or the whole cycle.
Result<std::vector<size_t>> start_order(const std::vector<const Manifest*>& plugins);

}  // namespace drover
