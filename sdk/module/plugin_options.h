// The options of `plugin "NAME" { … }` in the agent's configuration, which everybody shares. Those of `config` are the
// plugin's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/agent_config.h"

namespace drover {

// All but `enabled`, `digest`, `grants` and `config` are for plugins that are programs of their own. Those with a
// `kind` have `enabled` and `config` alone.
std::vector<ConfigOption> plugin_options();

// The prefix of the names under which parts of the agent declare the config of plugins of a kind.
inline constexpr std::string_view kPluginKind = "plugin_kind:";

// Checks `plugin "NAME" { kind = … }` against what the part that runs such plugins has declared, and puts its config
// into the declared form; one without a kind it leaves as it is. `raw`: the block as it was written; `agent`: the
// checked configuration. An agent without the role that the kind needs says so in `warnings`. Errors: invalid_argument
// with every problem and its place; failed_precondition when no part runs such plugins.
Status check_plugin_kind(const ConfigBlock& raw, ConfigBlock& plugin, const ConfigBlock& agent,
                         const DeclaredBlocks& declared, std::vector<std::string>& warnings);

}  // namespace drover
