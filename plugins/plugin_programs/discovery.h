// Which files of the plugin folders are plugins that are programs of their own, and what the operator wrote about them.
#pragma once

#include <string>
#include <vector>

#include "drover/result.h"
#include "settings.h"

namespace drover {
struct ConfigBlock;
}

namespace drover::plugin_programs {

struct PluginProgram {
  std::string file;  // absolute
  PluginSettings settings{};
};

struct Discovered {
  std::vector<PluginProgram> programs;  // by file name; each once, of the first folder that has it
  std::vector<Status> problems;         // files that are not taken, and why
};

// Every regular executable file that is no shared object; folders inside are not looked into. One that others may
// write is a problem.
Discovered discover(const std::vector<std::string>& folders, const ConfigBlock& configuration);

}  // namespace drover::plugin_programs
