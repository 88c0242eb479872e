// What a plugin inside the agent may ask of it (drover/v1/plugin_host.proto).
#pragma once

#include <string>

#include "drover/abi.h"

namespace drover::external {

// `plugin`, whose name its lines in the log carry, outlives the endpoint.
drover_endpoint resident_host(const std::string& plugin);

}  // namespace drover::external
