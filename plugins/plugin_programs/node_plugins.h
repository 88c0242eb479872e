// Tells an operator of the plugins of a node: drover.v1.NodePlugins. Pure but for what it reads of processes.
#pragma once

#include "drover/api/plugins.pb.h"
#include "kinds/hosted_plugin.h"

namespace drover::plugin_programs {

v1::NodePlugin describe(const HostedPlugin& plugin);

}  // namespace drover::plugin_programs
