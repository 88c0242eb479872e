// `drover plugin list|status|check FILE|validate-config`: shows what is installed, and checks whether it fits and
// whether a configuration would be accepted. Works on files; no agent needed. [main]
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "drover/agent_config.h"
#include "drover/manifest.h"
#include "drover/plugin.h"
#include "drover/result.h"

namespace drover::host {

// True for the commands of this file; plugins may declare others.
bool is_plugin_command(std::string_view name);

// The plugin in this file, with its manifest beside it: checked as an agent would, and loaded for good. Errors: those
// of the checks. `manifest` is filled in unless it is null.
Result<std::unique_ptr<Plugin>> load_file(const std::string& path, Manifest* manifest = nullptr);

// The options that the plugins of these folders declare; the plugins stay loaded. Errors: those of the checks.
Result<DeclaredBlocks> declared_options(const std::vector<std::string>& folders);

// Returns the exit code: 0 fine, 1 a problem was found (said on standard error), 127 unknown subcommand.
int run_plugin_command(const std::string& program, std::span<const std::string> arguments);

}  // namespace drover::host
