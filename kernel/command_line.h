// Subcommands other than `agent` and `plugin`: finds the plugin whose manifest lists the command, loads it and what it
// requires, runs it. No probe: this process is itself a throw-away one, and the checks of the file come first. [main]
#pragma once

#include <span>
#include <string>

namespace drover {

// `arguments` without the program's name. Returns the exit code; 127 for an unknown command.
int run_command(const std::string& program, std::span<const std::string> arguments);

}  // namespace drover
