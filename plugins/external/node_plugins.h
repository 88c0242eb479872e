// What an operator is told of the plugins of a node: drover.v1.NodePlugins. Pure but for what it reads of processes.
#pragma once

#include "external.pb.h"
#include "hosted_plugin.h"

namespace drover::external {

v1::NodePlugin describe(const HostedPlugin& plugin);

// What it did that it should not have, in plain words; and what the operator can do about its state, or empty.
std::vector<std::string> remarks_on(const PluginLife::View& view, const v1::NodePlugin& plugin, uint64_t garbled);
std::string advice_on(const PluginLife::View& view, const std::string& name);

}  // namespace drover::external
