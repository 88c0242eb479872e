// Folders that nobody but the agent looks into. [any]
#pragma once

#include <string>

#include "drover/result.h"

namespace drover::mounts {

// Makes it with those above it that are missing; its mode is 0700 then, whoever made it. Errors: the system's, with the
// path.
Status make_closed_folder(const std::string& path);

}  // namespace drover::mounts
