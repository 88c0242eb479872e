// The plugin at its socket: the methods of all services that the settings want.
#pragma once

#include "drover/result.h"

namespace drover::hostpath {

struct Plugin;

// Serves until SIGTERM or SIGINT, which the caller has blocked before any thread began. Errors: unavailable when nobody
// can listen there.
Status serve(Plugin& plugin);

}  // namespace drover::hostpath
