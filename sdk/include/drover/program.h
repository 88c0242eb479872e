// Runs another program to its end and reads what it prints. [any]
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover {

struct ProgramRun {
  std::string program;                                    // a path, or a name that is looked for in PATH
  std::vector<std::string> arguments{};                   // after its name
  std::optional<std::vector<std::string>> environment{};  // "NAME=value"; absent: this process's
  std::string_view input{};                               // what it reads as standard input
  int folder = -1;                                        // where it stands; -1: where this process does
  std::chrono::nanoseconds time{};                        // after which it is killed
  size_t longest = 1 << 20;                               // bytes that it may print
};

struct ProgramEnd {
  int code = 0;        // 128 + the signal that ended it
  std::string output;  // standard output
  std::string errors;  // standard error, as far as ProgramRun::longest
};

// Waits for its end; whatever it started and left in its process group is killed with it. Errors: not_found when there
// is no such program; unavailable when it cannot be started; deadline_exceeded; cancelled when `stop` was requested;
// resource_exhausted when it printed more than it may.
Result<ProgramEnd> run_program(const ProgramRun& run, const std::stop_token& stop = {});
// The standard output of one that succeeds. Errors also: unavailable with its exit code. What it wrote is not part of
// them, for it may be secret.
Result<std::string> ask_program(const ProgramRun& run, const std::stop_token& stop = {});

// The real path of a program that is looked for in this process's PATH; folders in it that are no absolute path are
// passed over. Errors: invalid_argument, as Nomad's drivers say it.
Result<std::string> find_machine_program(const std::string& name);

}  // namespace drover
