// An evaluated `job` block to the API's JSON, by the grammar. Problems go to the diagnostics with their place. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "drover/hcl.h"

namespace drover::jobspec {

// JSON cannot tell a block from an argument.
enum class Syntax { native, json };

nlohmann::json decode_job(const hcl::NodeBlock& job, Syntax syntax, hcl::Diagnostics& diagnostics);

}  // namespace drover::jobspec
