// The resources that a task's processes use now: from its control group where one counts, else summed over /proc.
#pragma once

#include "process_task.h"

namespace drover {

driver::TaskStats sample_usage(ProcessTask& task);

}  // namespace drover
