// The command line of the program.
#pragma once

#include <optional>
#include <string>

#include "drover/result.h"
#include "settings.h"

namespace drover::hostpath {

// `endpoint`: the environment's CSI_ENDPOINT, or null. Nothing: only help or the version was asked for, and is printed.
// Errors: invalid_argument naming the option.
Result<std::optional<Settings>> parse_options(int count, const char* const* arguments, const char* endpoint);

}  // namespace drover::hostpath
