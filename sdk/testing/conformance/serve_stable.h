// A plugin of the stable tier behind a program's socket: the same calls, one by one.
#pragma once

#include <memory>
#include <string>

#include "../../serve/server.h"
#include "drover/plugin_programs/resident.h"
#include "drover/stable_plugin.h"

namespace drover::conformance {

// Opens the plugin; its lines go to drover::log. Errors: failed_precondition when its entry refuses.
Result<std::shared_ptr<plugin_programs::ResidentChannel>> open_stable(const StablePlugin& plugin);

// The methods that a plugin of its kind may have, each handed on to the plugin as it is, and those of a process, which
// the plugin has not. `end`: the host wants the program to end.
serve::Methods hand_on(const StablePlugin& plugin, const std::shared_ptr<plugin_programs::ResidentChannel>& channel,
                       const std::function<void()>& end);

}  // namespace drover::conformance
