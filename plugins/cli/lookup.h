// Finding a job, allocation, node or evaluation by what a person typed of its identifier.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli_command.h"

namespace drover::cli {

// The one job with this ID, or whose ID begins so. Errors: not_found; invalid_argument listing several matches.
Result<nlohmann::json> find_job(Run& run, const std::string& id);
// Full objects.
Result<nlohmann::json> find_alloc(Run& run, const std::string& id);
Result<nlohmann::json> find_node(Run& run, const std::string& id);
Result<nlohmann::json> find_eval(Run& run, const std::string& id);
// The task named, or the only one. Errors: invalid_argument naming the choices.
Result<std::string> pick_task(const nlohmann::json& alloc, const std::string& wanted);

}  // namespace drover::cli
