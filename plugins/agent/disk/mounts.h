// The machine's mounts below a folder. [any]
#pragma once

#include <string>
#include <vector>

#include "drover/mounts.h"
#include "drover/result.h"

namespace drover::agent {

// Those of this machine at `folder` and below, links in its name followed. Errors: unavailable when the kernel's list
// cannot be read.
Result<std::vector<MountPoint>> mounts_below(const std::string& folder);

}  // namespace drover::agent
