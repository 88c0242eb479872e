// A command inside a container, for TaskDriver::exec_task_streaming: made, started, and its connection given over to
// bytes in both directions.
//
//   made ──▶ started ──its output told to the end──▶ result told
//               └─caller gone, task ended─▶ hung up (SIGHUP) ──a second later──▶ killed
//
// The engine cannot end a command; its process, which is one of this machine, is signalled.
#pragma once

#include <stop_token>

#include "drover/task_driver.h"
#include "engine/engine.h"

namespace drover::docker {

// Blocks until it has ended; one thread more runs meanwhile. `task_ended` and `ending` end it.
Status run_container_exec(Engine& engine, const std::string& container, const ExecCommand& command, ExecStream& caller,
                          const std::stop_token& task_ended, const std::stop_token& ending);

}  // namespace drover::docker
