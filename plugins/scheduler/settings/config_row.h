// The operator's settings of the scheduler: the configuration of a new cluster, and what a change must satisfy. Pure.
#pragma once

#include "drover/config.h"
#include "drover/result.h"
#include "drover/v1/scheduler_config.pb.h"

namespace drover::scheduler {

// The block default_scheduler_config of the server's configuration.
ConfigOption default_config_option();
// The row of a new cluster. `block`: null when the operator has written none.
// Errors: invalid_argument, with the option's place.
Result<v1::SchedulerConfiguration> initial_configuration(const ConfigBlock* block);

// Errors: invalid_argument for a setting that does not exist.
Status check_configuration(const v1::SchedulerConfiguration& configuration);

}  // namespace drover::scheduler
