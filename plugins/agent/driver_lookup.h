// The task drivers of this node: those in this process, and those of plugins outside of the build, which their sources
// have. A name in this process wins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/plugin.h"
#include "drover/plugin_source.h"
#include "drover/task_driver.h"

namespace drover::agent {

std::vector<std::string> driver_names(const Host& host);           // sorted, each once
TaskDriver* find_driver(const Host& host, std::string_view name);  // null when there is none
std::vector<PluginSource*> plugin_sources(const Host& host);

}  // namespace drover::agent
