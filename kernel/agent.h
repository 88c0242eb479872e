// The composition root of an agent: constructs the rooms in order, loads the plugins, runs until told to stop.
//
//   arguments → configuration → plugins found, checked, declared → store, log, router → plugins started → … → stopped
//
// Destruction is the reverse of construction. [main]
#pragma once

#include <span>
#include <string>

namespace drover {

// Runs `drover agent …`; returns the exit code. 0 after an orderly leave, 1 otherwise.
int run_agent(const std::string& program, std::span<const std::string> arguments);

}  // namespace drover
