// One artifact, from its source to its place.
#pragma once

#include <string>

#include "drover/result.h"
#include "fetcher/request.h"

namespace drover::artifacts {

// Into the folder `target`, which is there. Errors: invalid_argument, failed_precondition when trying again is no use;
// unavailable else.
Status fetch(const Request& request, const std::string& target);

// The name of the file that a URL gives: the last part of its path. Pure.
std::string file_name_of(const std::string& url);

}  // namespace drover::artifacts
