// Reads the JSON of Vault's answers. Pure. [any]
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace drover::vault {

// The object's member of that name; null where it has nothing, or is none. Lives as long as the object.
const nlohmann::json& member(const nlohmann::json& object, const char* name);

}  // namespace drover::vault
