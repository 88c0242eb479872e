// A plugin's manifest: plugin.json, installed as NAME.json beside NAME.so.
//
//   { "name": "jobs", "version": "0.1.0", "sdk": "0.1", "tier": "exact", "kind": "module",
//     "summary": "one line for people",
//     "roles": ["server"],                    server, client, command; where the plugin is loaded
//     "provides": ["jobs"], "requires": ["scheduler"],     capabilities; "x?" can be done without;
//                                           "kind:task_driver": every plugin of that kind starts before,
//                                           "hook.*": every one that provides such a capability
//     "commands": ["job run"],                subcommands of the program that the plugin implements
//     "enabled": true }                       false: only where the configuration says so
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover {

struct Requirement {
  std::string capability;
  bool optional = false;
};

struct Manifest {
  std::string name;
  std::string version;
  std::string sdk;
  std::string tier;  // "stable" or "exact"
  std::string kind;  // one of drover/plugin_kind.h, or "module"
  std::string summary;
  std::vector<std::string> roles;
  std::vector<std::string> provides;
  std::vector<Requirement> requirements;
  std::vector<std::string> commands;
  bool enabled = true;

  bool has_role(std::string_view role) const;
};

// Errors: invalid_argument with the line, or the unknown key and the nearest valid one.
Result<Manifest> parse_manifest(std::string_view json);

}  // namespace drover
