// Reads the JSON of Vault's answers. Pure. [any]
#pragma once

#include <nlohmann/json.hpp>

namespace drover::vault {

// What the object has under that name; null where it has nothing, or is none. Lives as long as the object.
inline const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json none;
  if (!object.is_object()) return none;
  const auto at = object.find(name);
  return at == object.end() ? none : *at;
}

}  // namespace drover::vault
