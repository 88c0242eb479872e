// The commands about volumes, for those of the type "host".
#pragma once

#include <optional>
#include <string>

#include "cli_command.h"

namespace drover::cli {

// Each returns the exit code. `text`: of the file `name`.
int create_host_volume(Run& run, const std::string& name, const std::string& text);
int register_host_volume(Run& run, const std::string& name, const std::string& text);
int delete_host_volume(Run& run, const std::string& typed);
int list_host_volumes(Run& run);
// `is_asked`: by -type. Nothing: there is no such host volume, and another kind may be meant.
std::optional<int> show_host_volume(Run& run, const std::string& typed, bool is_asked);

}  // namespace drover::cli
