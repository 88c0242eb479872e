// The part of `plugin status` that is about storage plugins of the cluster.
#pragma once

#include <string>

#include "cli_command.h"

namespace drover::v1 {
class CsiPlugin;
class ListCsiPluginsResponse;
}  // namespace drover::v1

namespace drover::cli {

// Prints them; the exit code. `is_asked`: also that there are none, and what went wrong.
int list_storage_plugins(Run& run, bool is_asked);
// The one with this ID, or whose ID begins so. Errors: not_found; invalid_argument listing several matches.
Result<Answer<v1::CsiPluginResponse>> find_storage_plugin(Run& run, const std::string& typed);
int show_storage_plugin(Run& run, const Answer<v1::CsiPluginResponse>& found);

// Pure.
std::string storage_plugins_text(const v1::ListCsiPluginsResponse& plugins);
std::string storage_plugin_text(const v1::CsiPlugin& plugin, bool is_short, bool verbose);

}  // namespace drover::cli
