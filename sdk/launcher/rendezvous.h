// How a client and its launcher meet: in a folder of theirs alone, which holds the launcher's socket and a lock.
//
//   open_folder ──▶ take_lock ──▶ connect_to ──▶ the greeting ──▶ the lock is let go
//                                     │ nobody answers
//                                     └──▶ start_launcher ──▶ connect_to
//
// While the lock is held nobody else starts a launcher there, and the one that runs does not end by itself. [any]
#pragma once

#include <string>

#include "drover/fd.h"
#include "drover/launcher.h"

namespace drover::launcher {

// Makes it with mode 0700 where it is missing. Errors: permission_denied when it belongs to another user.
Result<Fd> open_folder(const std::string& path);
// Errors: deadline_exceeded.
Result<Fd> take_lock(const Fd& folder, SteadyTime deadline);
// Errors: unavailable when no launcher answers; permission_denied when another user's does.
Result<Fd> connect_to(const Fd& folder);
// Starts one and returns when it can be connected to. Requires: the lock. Errors: unavailable, with the reason.
Status start_launcher(const Fd& folder, const Launcher::Options& options);

}  // namespace drover::launcher
