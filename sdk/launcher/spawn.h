// Starts one process with all that a task needs set before its program runs. For single-threaded processes: it forks.
#pragma once

#include <sys/types.h>

#include <string>

#include "protocol.h"

namespace drover::launcher {

struct Spawned {
  pid_t pid = -1;  // -1: nothing was started, and the fields below say why
  int error = 0;
  std::string what;  // "exec /bin/nope"
};

// `out` and `err` become the task's streams; its input is /dev/null. Blocks until the program runs or failed to.
Spawned spawn(const StartRequest& request, int out, int err);

// The same with streams that the process opens itself, so that nobody else ever has them: as its controlling terminal
// where it is one.
Spawned spawn(const StartRequest& request, const ExecStreams& streams);

}  // namespace drover::launcher
