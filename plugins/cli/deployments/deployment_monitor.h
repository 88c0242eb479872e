// Follows a deployment until it is over, showing it whenever it has changed.
#pragma once

#include <string>

#include "cli_command.h"

namespace drover::cli {

// `id`: sixteen bytes. `wait`: how long the server is asked to wait for a change, "2s". Goes on with the deployment
// that takes a failed one's job back. The exit code: 0 successful, 1 anything else.
int monitor_deployment(Run& run, const std::string& id, const std::string& wait = "2s");

}  // namespace drover::cli
