// Programs of this machine that a driver asks or runs: where they are, and what they answer. [any]
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover {

// The real path of a program that is looked for in this process's PATH; folders in it that are no absolute path are
// passed over. Errors: invalid_argument, as Nomad's drivers say it.
Result<std::string> find_machine_program(const std::string& name);

struct ProgramCall {
  std::vector<std::string> words;  // the program, as a path or a name in the PATH, and its arguments
  std::string input{};             // less than a pipe holds
  bool takes_errors = false;       // what it writes to standard error is part of its answer
  std::chrono::nanoseconds limit = std::chrono::seconds(30);
};
// Runs it and returns what it wrote. Blocks; a program that takes longer is killed. Errors: that of starting it;
// unavailable with its exit code; deadline_exceeded. What it wrote is not part of them, for it may be secret.
Result<std::string> ask_machine_program(const ProgramCall& call, std::stop_token stop = {});

}  // namespace drover
