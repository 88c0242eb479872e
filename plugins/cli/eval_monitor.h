// Follows an evaluation until it is over, telling what happens as it happens.
#pragma once

#include <string>

#include "cli_command.h"

namespace drover::cli {

// `eval_id`: sixteen bytes. The exit code: 0 placed, 1 an error, 2 finished with placements missing.
int monitor_evaluation(Run& run, const std::string& eval_id);

}  // namespace drover::cli
