// The operator's settings for one plugin in its block of the agent's configuration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/hcl_value.h"
#include "drover/plugin_programs/process.h"
#include "drover/result.h"

namespace drover {
struct ConfigBlock;
}

namespace drover::plugin_programs {

// Zero: not limited.
struct PluginLimits {
  uint64_t memory = 0;  // bytes
  uint64_t processes = 0;
  double cpu = 0;  // processors
  uint64_t open_files = 65'536;

  bool has_group() const { return memory != 0 || processes != 0 || cpu != 0; }
};

struct PluginSettings {
  std::vector<std::string> arguments{};
  std::optional<hcl::Value> config{};  // an object
  bool asks_for_tls = false;           // auto_mtls
  std::vector<std::string> digests{};  // SHA-256 in hexadecimal; empty: any
  std::string user{};                  // empty: the agent's
  bool no_new_privileges = false;
  std::optional<int> oom_score{};
  PluginLimits limits{};
  std::optional<std::vector<std::string>> grants{};  // "drover.v1.Nodes/List"
};

// Reads `plugin "NAME" { … }` from the agent's whole configuration.
PluginSettings settings_of(const ConfigBlock& configuration, std::string_view plugin);

// Leaves out control groups. Errors: invalid_argument for a user that is not there.
Result<Confinement> confinement_of(const PluginSettings& settings);

}  // namespace drover::plugin_programs
