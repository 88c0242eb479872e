// The `config` block of a raw_exec task, and where its program lies.
#pragma once

#include <string>
#include <vector>

#include "drover/task_options.h"

namespace drover::raw_exec {

struct Command {
  std::string program;
  std::vector<std::string> arguments;
};

// Errors: invalid_argument naming the option.
Result<Command> read_command(TaskOptions options);

// The path to execute: an absolute one as it is; else <task>/local/<program>, <task>/<program>, and then the folders of
// `search_path`. Errors: invalid_argument naming the places.
Result<std::string> find_program(const std::string& program, const std::string& task_folder,
                                 const std::string& search_path);

}  // namespace drover::raw_exec
