// Asking a person before something is done that cannot be taken back.
#pragma once

#include <optional>
#include <string>

#include "cli_command.h"

namespace drover::cli {

// Nothing: go on. Else the command ends with that exit code. Exactly "y" goes on; an empty answer or one beginning with
// n does not, and is no error.
std::optional<int> ask(Run& run, const std::string& question);

}  // namespace drover::cli
