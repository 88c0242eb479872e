// A plugin of the stable tier that has been loaded into the agent, for whoever speaks the protocol of its kind.
#pragma once

#include <string>
#include <string_view>

#include "drover/abi.h"

namespace drover {

struct StableEndpoint {
  static constexpr std::string_view kExtensionPoint = "stable_endpoint";

  std::string kind;  // of the plugin's manifest: "task_driver", "device"
  drover_endpoint endpoint{};
  // Set by who takes the endpoint over, in Plugin::start; it releases the endpoint before its own stop returns. What
  // nobody has taken is released by the host. [main]
  bool is_taken = false;
};

}  // namespace drover
