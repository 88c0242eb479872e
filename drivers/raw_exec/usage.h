// What a task's processes use now: from its control group where one counts, else summed over /proc.
#pragma once

#include "nomad/plugins/driver.pb.h"
#include "task.h"

namespace drover::raw_exec {

proto::TaskStats sample(Task& task);

}  // namespace drover::raw_exec
