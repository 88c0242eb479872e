// Autopilot's configuration as the agent's file, the API and the table hold it.
#pragma once

#include "decide.h"
#include "drover/config.h"
#include "drover/plugin.h"

namespace drover::v1 {
class AutopilotConfiguration;
}

namespace drover::autopilot {

ConfigSchema config_schema();
// The initial configuration, from the block `autopilot {}`; the defaults when there is none.
v1::AutopilotConfiguration initial_configuration(const ConfigBlock* block);

// Errors: invalid_argument names the field; also for what this version cannot do.
Result<Config> to_config(const v1::AutopilotConfiguration& configuration);

}  // namespace drover::autopilot
