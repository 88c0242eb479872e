// A command inside a task, with this process's streams as its own: over the API's WebSocket. Blocking.
#pragma once

#include <optional>
#include <string>

#include "client.h"

namespace drover::cli {

struct ExecOptions {
  std::string path;  // of the API, with its query
  bool takes_input = true;
  bool has_terminal = false;  // this process's input is a terminal; it is raw meanwhile, and restored however this ends
  std::optional<char> escape;  // out of a terminal
};

// The command's exit code. Errors: unavailable when the connection broke; else the agent's own.
Result<int> run_exec(const Client& client, const ExecOptions& options);

}  // namespace drover::cli
