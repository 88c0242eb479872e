// The first lines that an agent prints: where it listens, and which files it has read.
#pragma once

#include <string>
#include <vector>

#include "drover/agent_config.h"

namespace drover {

void print_banner(const AgentSettings& settings, const std::vector<std::string>& config_files);

}  // namespace drover
