// The protocol's demands on answers beyond what a driver says: fields that must never be absent, and the form
// of errors. Pure.
#pragma once

#include <cstdint>

#include "drover/result.h"
#include "drover/task_driver.h"

namespace drover::serve {

// Readers written in Go fail on a missing time, result or usage. A time that is absent or zero becomes their
// zero, in year 1.
void complete(driver::InspectTaskResponse& response);
void complete(driver::TaskStats& stats, int64_t now_ns);

// An error of a driver as the protocol has it (drover/serve.h).
Status on_the_wire(const Status& status);

}  // namespace drover::serve
