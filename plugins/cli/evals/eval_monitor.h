// Follows an evaluation until it is over, telling what happens as it happens.
#pragma once

#include <string>

#include "cli_command.h"

namespace drover::cli {

// Whether the deployment that an evaluation belongs to is followed after it.
enum class FollowDeployment : bool { no, yes };

// `eval_id`: sixteen bytes. The exit code: 0 placed, 1 an error or a deployment that was not successful, 2 finished
// with placements missing.
int monitor_evaluation(Run& run, const std::string& eval_id, FollowDeployment follow = FollowDeployment::yes);

}  // namespace drover::cli
