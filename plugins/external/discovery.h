// Which files of the plugin folders are plugins that are programs of their own, and what the operator wrote about them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/hcl_value.h"
#include "drover/result.h"

namespace drover {
struct ConfigBlock;
}

namespace drover::external {

struct PluginProgram {
  std::string file;  // absolute
  std::vector<std::string> arguments{};
  bool asks_for_tls = false;           // auto_mtls
  std::optional<hcl::Value> config{};  // of `plugin "FILE NAME" { config { … } }`, an object
};

// What the operator wrote for this plugin.
std::optional<hcl::Value> config_of(const ConfigBlock& configuration, std::string_view plugin);

struct Discovered {
  std::vector<PluginProgram> programs;  // by file name; each once, of the first folder that has it
  std::vector<Status> problems;         // files that are not taken, and why
};

// Every regular executable file that is no shared object; folders inside are not looked into. One that others may
// write is a problem.
Discovered discover(const std::vector<std::string>& folders, const ConfigBlock& configuration);

}  // namespace drover::external
