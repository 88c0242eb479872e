// Follows the drain of a node until it is over.
#pragma once

#include <string>

#include "cli_command.h"

namespace drover::cli {

// The exit code: 0 when the drain is over, or there is none.
int monitor_drain(Run& run, const std::string& node_id, bool ignore_system);

}  // namespace drover::cli
