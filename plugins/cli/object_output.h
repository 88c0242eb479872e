// -json and -t: an API object as it is, or by a template of the user's own.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "cli_command.h"

namespace drover::cli {

// Appends the two flags.
std::vector<Flag> with_object_flags(std::vector<Flag> flags);

// Prints what the agent sent as one of the two flags asks, and a new line; the exit code. Nothing when neither is
// given.
std::optional<int> print_object(Run& run, const Response& answer);
// The same for a part of an answer.
std::optional<int> print_object(Run& run, const nlohmann::json& object);
// By -t alone, for commands that have no -json or mean something else by it.
std::optional<int> print_by_template(Run& run, const nlohmann::json& object);
// One of the two is given.
bool wants_object(const Run& run);
Flag template_flag();

}  // namespace drover::cli
