// The end of every command that leads to an evaluation.
#pragma once

#include <string>

#include "cli_command.h"

namespace drover::cli {

// Prints the server's warnings, if there are any.
void show_warnings(Run& run, const std::string& warnings);
// Follows the evaluation, or with -detach prints `label` and its identifier. `eval_id`: empty for a job that only
// starts children; then nothing follows. The exit code.
int follow_evaluation(Run& run, const std::string& eval_id, const std::string& label = "Evaluation ID: ");
// -detach and -verbose.
std::vector<Flag> with_follow_flags(std::vector<Flag> flags);

}  // namespace drover::cli
