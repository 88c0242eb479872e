// The options of `plugin "NAME" { … }` in the agent's configuration, which everybody shares. Those of `config` are the
// plugin's own.
#pragma once

#include <vector>

#include "drover/config.h"

namespace drover {

// All but `enabled`, `digest`, `grants` and `config` are for plugins that are programs of their own.
std::vector<ConfigOption> plugin_options();

}  // namespace drover
