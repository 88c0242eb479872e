// Gives the data of one allocation's folders to another's, by renaming. [any]
#pragma once

#include <string>
#include <vector>

#include "drover/hook.h"
#include "drover/result.h"

namespace drover::agent {

// Moves alloc/data, and the folder "local" of each of `tasks`, whose folders are made. What is not there is left out,
// so it goes on where a former attempt was cut off. Requires: no task of either runs. Errors: failed_precondition for
// something that is no folder, or where there is data already; else what went wrong.
Status move_data(const AllocFolders& from, const AllocFolders& to, const std::vector<std::string>& tasks);

}  // namespace drover::agent
