// -json and -t: an API object as it is, or by a template of the user's own.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "cli_command.h"

namespace drover::cli {

// Appends the two flags.
std::vector<Flag> with_object_flags(std::vector<Flag> flags);

// Prints the object as one of the two flags asks, and a new line; the exit code. Nothing when neither is given.
std::optional<int> print_object(Run& run, const nlohmann::json& object);
// By -t alone, for commands that have no -json or mean something else by it.
std::optional<int> print_by_template(Run& run, const nlohmann::json& object);
Flag template_flag();

}  // namespace drover::cli
