// A command beside a task that is a process: a child of the launcher, with three pipes or on a terminal of its own,
// that a caller elsewhere speaks to. What a driver of processes makes of TaskDriver::exec_task_streaming.
//
//   started ──runs──▶ exited ──its output told to the end──▶ result told
//      └─caller gone, task ended─▶ hung up (SIGHUP) ──a second later──▶ killed with all of its session
//
// No descriptor and no process is left behind.
#pragma once

#include <stop_token>

#include "drover/launcher.h"
#include "drover/task_driver.h"

namespace drover {

// Returns when the command has ended. `start` says what runs, where, for whom and in which control group; its `id` and
// streams are made here. `task_ended` ends the command. Errors: those of the start (invalid_argument: it cannot be
// executed); cancelled when the caller has gone; unavailable when the launcher has. One thread more runs meanwhile.
Status run_process_exec(Launcher& launcher, Launcher::Start start, bool tty, ExecStream& caller,
                        const std::stop_token& task_ended);

}  // namespace drover
