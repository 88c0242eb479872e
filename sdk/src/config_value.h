// Shared by the two halves of configuration: reading values (config.cc) and checking them (config_schema.cc).
#pragma once

#include <optional>

#include "drover/config.h"

namespace drover {

// The value in the form that the getters read; nothing when it is not of the type.
std::optional<hcl::Value> convert_config_value(ConfigType type, const hcl::Value& value);

}  // namespace drover
