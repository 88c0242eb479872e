// `drover plugin list|status|check FILE|validate-config`: what is installed, whether it fits, whether a configuration
// would be accepted. Works on files; no agent needed. [main]
#pragma once

#include <span>
#include <string>

namespace drover::host {

// Returns the exit code: 0 fine, 1 a problem was found (said on standard error), 127 unknown subcommand.
int run_plugin_command(const std::string& program, std::span<const std::string> arguments);

}  // namespace drover::host
