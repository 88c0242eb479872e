// Files of environment variables: one KEY=VALUE a line, as templates with `env` write them. Pure.
#pragma once

#include <string_view>

#include "drover/result.h"
#include "drover/task_environment.h"

namespace drover::templates {

// A line is empty, a comment (#), or a key, "=" and a value: parts that are unquoted, in single quotes (as they stand)
// or in double quotes (with the escapes of JSON) follow each other and join. `export ` in front of a key is left out.
// The last of two equal keys counts.
// Errors: invalid_argument with the line: "error on line 3: missing =".
Result<Variables> parse_env_file(std::string_view text);

}  // namespace drover::templates
