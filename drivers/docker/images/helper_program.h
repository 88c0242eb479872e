// Runs docker-credential-NAME, as Docker's own tools do.
#pragma once

#include <stop_token>
#include <string>

#include "drover/result.h"

namespace drover::docker {

// Its answer about the registry. Waits up to 30 s, then kills it. Errors: invalid_argument for a name that is none of a
// helper; unavailable with its exit code; what it printed stays here, for it may be secret.
Result<std::string> run_credential_helper(const std::string& name, const std::string& registry, std::stop_token stop);

}  // namespace drover::docker
