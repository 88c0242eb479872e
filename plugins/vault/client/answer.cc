#include "client/answer.h"

#include <nlohmann/json.hpp>

namespace drover::vault {

const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json none;
  if (!object.is_object()) return none;
  const auto at = object.find(name);
  return at == object.end() ? none : *at;
}

}  // namespace drover::vault
