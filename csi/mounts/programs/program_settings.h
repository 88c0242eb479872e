// Storage plugins that the operator describes in the agent's configuration, and that need no job. Pure.
//
//   plugin "disks" {
//     kind = "csi"
//     config {
//       command = "/usr/lib/disks/csi"
//       type    = "monolith"
//     }
//   }
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover {
struct ConfigBlock;
struct ConfigSchema;
}  // namespace drover

namespace drover::mounts {

inline constexpr std::string_view kProgramKind = "csi";  // of the block

struct ProgramSettings {
  std::string name;     // of the block
  std::string command;  // absolute; empty: a program that the configuration does not name any more
  std::vector<std::string> arguments{};
  std::map<std::string, std::string> environment{};  // may hold secrets
  std::string id;                                    // of the plugin in the cluster
  std::string type;                                  // "node", "controller" or "monolith"
  std::chrono::nanoseconds health_timeout = std::chrono::seconds(30);

  bool is_configured() const { return !command.empty(); }
  bool has_node() const { return type != "controller"; }
  bool has_controller() const { return type != "node"; }
};

// The options of `config`.
ConfigSchema program_schema();

// The plugins of this kind that are enabled, out of the agent's whole configuration. Errors: invalid_argument with
// every problem and its place.
Result<std::vector<ProgramSettings>> read_programs(const ConfigBlock& configuration);

// Differs when a running process would have to be replaced for these settings. Does not tell what they are.
std::string digest_of(const ProgramSettings& settings);

}  // namespace drover::mounts
