// Tells an operator of the plugins of a node: drover.v1.NodePlugins. Pure but for what it reads of processes.
#pragma once

#include "drover/api/plugins.pb.h"
#include "kinds/hosted_plugin.h"

namespace drover::plugin_programs {

// Leaves out what only a control group knows.
v1::PluginUse use_of(pid_t pid);
v1::NodePlugin describe(const HostedPlugin& plugin);

}  // namespace drover::plugin_programs
