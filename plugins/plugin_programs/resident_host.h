// Takes a plugin's calls to the agent around it (drover/v1/plugin_host.proto): lines for the log, and methods of the
// router, as far as they were granted to it.
#pragma once

#include <memory>
#include <string>

#include "drover/abi.h"
#include "drover/methods.h"
#include "grants.h"

namespace drover::plugin_programs {

struct ResidentHost {
  std::string plugin;  // its lines in the log carry the name
  std::shared_ptr<Grants> grants;
  Caller* caller = nullptr;  // null: there is only the log
};

// `host` outlives the endpoint.
drover_endpoint endpoint_of(const ResidentHost& host);

}  // namespace drover::plugin_programs
