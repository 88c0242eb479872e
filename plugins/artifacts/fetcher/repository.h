// Repositories of git and Mercurial, by their programs.
#pragma once

#include <string>

#include "drover/result.h"
#include "fetcher/request.h"

namespace drover::artifacts {

// Clones into the folder, or brings a clone that is there to the state that is wanted: options ref, depth, sshkey of git,
// rev of Mercurial. Errors: failed_precondition when the program is not there, or the folder holds something else;
// unavailable with the program's words.
Status fetch_repository(const Request& request, const std::string& folder);

}  // namespace drover::artifacts
