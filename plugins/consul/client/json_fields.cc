#include "client/json_fields.h"

#include <nlohmann/json.hpp>

namespace drover::consul {
namespace {

const nlohmann::json* member(const nlohmann::json& object, const char* name) {
  const auto at = object.find(name);
  return at == object.end() ? nullptr : &*at;
}

}  // namespace

std::string text_in(const nlohmann::json& object, const char* name) {
  const nlohmann::json* found = member(object, name);
  return found && found->is_string() ? found->get<std::string>() : std::string();
}

int integer_in(const nlohmann::json& object, const char* name, int otherwise) {
  const nlohmann::json* found = member(object, name);
  return found && found->is_number_integer() ? found->get<int>() : otherwise;
}

bool boolean_in(const nlohmann::json& object, const char* name) {
  const nlohmann::json* found = member(object, name);
  return found && found->is_boolean() && found->get<bool>();
}

const nlohmann::json& object_in(const nlohmann::json& object, const char* name) {
  static const nlohmann::json kEmpty = nlohmann::json::object();
  const nlohmann::json* found = member(object, name);
  return found && found->is_object() ? *found : kEmpty;
}

const nlohmann::json& list_in(const nlohmann::json& object, const char* name) {
  static const nlohmann::json kEmpty = nlohmann::json::array();
  const nlohmann::json* found = member(object, name);
  return found && found->is_array() ? *found : kEmpty;
}

std::map<std::string, std::string> texts_in(const nlohmann::json& object) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : object.items()) {
    if (value.is_string()) out[name] = value.get<std::string>();
  }
  return out;
}

}  // namespace drover::consul
