// Makes the launcher's orders from a task's configuration and what its driver wants to run.
#pragma once

#include <string>

#include "drover/process_driver.h"

namespace drover {

// The path to execute: an absolute one as it is; else <task>/local/<program>, <task>/<program>, and then the folders of
// `search_path`. Errors: invalid_argument naming the places.
Result<std::string> find_program(const std::string& program, const std::string& task_folder,
                                 const std::string& search_path);

// Without streams and isolation, so for the task and for a command beside it. `is_rooted`: the task's folder is its
// root, and what the command names is looked for in there. Errors: invalid_argument.
Result<Launcher::Start> start_of(const driver::TaskConfig& config, const ProcessDriver::Command& command,
                                 bool is_rooted);

}  // namespace drover
