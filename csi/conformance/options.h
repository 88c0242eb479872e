// The command line of drover-csi-test: options with one dash or two, `-name value` or `-name=value`; what follows the
// program is its own.
#pragma once

#include <span>
#include <string>

#include "drover/result.h"
#include "settings.h"

namespace drover::csi_kit {

// Errors: invalid_argument naming the option; not_found for a file.
Result<Settings> parse_options(std::span<const std::string> words);
bool wants_help(std::span<const std::string> words);
std::string help();

}  // namespace drover::csi_kit
