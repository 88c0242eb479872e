// Shared by the parts of configuration: reading values (config.cc), checking them (config_schema.cc), and the agent's
// own (agent_config.cc).
#pragma once

#include <optional>

#include "drover/config.h"

namespace drover {

// The value in the form that the getters read; nothing when it is not of the type.
std::optional<hcl::Value> convert_config_value(ConfigType type, const hcl::Value& value);

// Gives each block `name` inside `block` its label, in whatever form it was written: in JSON, and in objects, labels
// are the names of what is inside. For those who look before there is a schema. Errors: invalid_argument with the place
// of a block without a label.
Result<ConfigBlock> label_blocks(ConfigBlock block, const std::string& name);

}  // namespace drover
