// The plugin at its socket: the methods of all services that the settings want.
#pragma once

#include <functional>
#include <string>

#include "drover/result.h"

namespace drover::serve {
class Call;
}

namespace drover::hostpath {

struct Plugin;

// Stands between a call of "/package.Service/Method" and what answers it, which it calls or not. [any]
using Answerer = std::function<Status(serve::Call& call)>;
using Around = std::function<Status(const std::string& method, serve::Call& call, const Answerer& answerer)>;

// Serves until SIGTERM or SIGINT, which the caller has blocked before any thread began. Errors: unavailable when nobody
// can listen there.
Status serve(Plugin& plugin, const Around& around = {});

}  // namespace drover::hostpath
