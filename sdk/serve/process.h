// The life of a plugin's process: handshake, serving, the orderly end. One thread, main's.
#pragma once

#include <span>

#include "drover/serve.h"

namespace drover::serve {

// Serves until the host or SIGTERM ends it, and then ends the process: calls of the driver that still block are not
// waited for. `handshake` is the descriptor of what was standard output. Returns the exit status when there is nothing
// to serve: 1 without a host, 2 for wrong arguments; the reason is on standard error.
int run(const ServedDriver& served, std::span<char*> arguments, int handshake);

}  // namespace drover::serve
