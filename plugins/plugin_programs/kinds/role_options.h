// The things that the agent gives to whatever it makes for a plugin of some kind.
#pragma once

#include <functional>

#include "log_pipes.h"
#include "program_host.h"
#include "task_cgroups.h"

namespace drover::plugin_programs {

struct RoleOptions {
  const TaskCgroups* cgroups = nullptr;  // outlives the role, and so
  LogPipes* pipes = nullptr;             // does this
  // The plugin has come or gone, or says another thing of itself. Must not block.
  std::function<void()> changed{};
};

}  // namespace drover::plugin_programs
