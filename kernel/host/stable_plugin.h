// A plugin of the stable tier inside this process: its entry is called, and its endpoint declared for the plugin that
// speaks the protocol of its kind (drover/stable_endpoint.h). The kernel itself speaks none of them.
#pragma once

#include <memory>
#include <string>

#include "drover/abi.h"
#include "drover/plugin.h"
#include "drover/result.h"

namespace drover::host {

using StableEntry = int32_t(const drover_endpoint*, drover_endpoint*);

// Calls the entry. Errors: failed_precondition when it refuses, or returns an endpoint that is none.
Result<std::unique_ptr<Plugin>> open_stable(const std::string& name, const std::string& kind, StableEntry* entry);

}  // namespace drover::host
