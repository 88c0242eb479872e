// Members of Consul's answers. What is absent, null or of another type is empty: Consul leaves out what is. Pure.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace drover::consul {

std::string text_in(const nlohmann::json& object, const char* name);
int integer_in(const nlohmann::json& object, const char* name, int otherwise = 0);
bool boolean_in(const nlohmann::json& object, const char* name);
const nlohmann::json& object_in(const nlohmann::json& object, const char* name);
const nlohmann::json& list_in(const nlohmann::json& object, const char* name);
// The members of an object that are texts.
std::map<std::string, std::string> texts_in(const nlohmann::json& object);

}  // namespace drover::consul
