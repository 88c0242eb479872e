// Finding a volume by what a person typed of its identifier.
#pragma once

#include <string>

#include "cli_command.h"

namespace drover::cli {

// The one volume with this ID, or whose ID begins so. With the namespace "*" it is looked for in all; the command goes
// on in the volume's own. Errors: not_found; invalid_argument listing several matches.
Result<std::string> find_volume(Run& run, const std::string& typed);

}  // namespace drover::cli
