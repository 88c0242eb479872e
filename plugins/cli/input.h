// Texts that a command reads whole.
#pragma once

#include <string>

#include "cli_command.h"

namespace drover::cli {

// The content of the file, or of standard input for "-"; it may be empty. Errors: those of opening, with the path;
// invalid_argument for a file of more than 16 MiB, and for a folder.
Result<std::string> read_text(Run& run, const std::string& path);
// The content of a file that must not be empty. Errors: invalid_argument, with the path.
Result<std::string> read_file(const std::string& path);

}  // namespace drover::cli
