// From a file to what the kit and the shell call: a program as it is; a shared object in a process of its own, which is
// this program again (`drover plugin serve FILE`), so that a crash is that process's.
#pragma once

#include <string>
#include <vector>

#include "drover/conformance.h"

namespace drover::author {

struct Tried {
  plugin_programs::Program program;
  bool is_exact = false;  // a shared object of the exact tier: made with this SDK
};

// A shared object of the exact tier reads its own configuration from `config_file`; empty: none. Every other plugin
// gets it over the protocol. Errors: not_found, invalid_argument naming what is wrong with the file.
Result<Tried> program_of(const std::string& file, std::vector<std::string> arguments, const std::string& config_file);

// The plugin's configuration from a file: the content of its `config` block, in HCL. Errors name file and line.
Result<hcl::Value> read_config(const std::string& file);
Result<std::string> read_file(const std::string& file);

}  // namespace drover::author
