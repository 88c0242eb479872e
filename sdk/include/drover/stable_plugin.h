// A plugin of the stable tier that has been loaded into the agent. The plugin that speaks the protocol of its kind
// finds it in Plugin::start, calls its entry, and releases what that returns before its own stop returns.
#pragma once

#include <string>
#include <string_view>

#include "drover/abi.h"

namespace drover {

struct StablePlugin {
  static constexpr std::string_view kExtensionPoint = "stable_plugin";
  using Entry = decltype(drover_plugin_open);

  std::string kind;  // of its manifest: one of drover/plugin_kind.h
  Entry* entry = nullptr;
};

}  // namespace drover
