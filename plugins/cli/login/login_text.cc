#include "login/login_text.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "drover/api/logins.pb.h"
#include "drover/duration.h"
#include "output.h"

namespace drover::cli {
namespace {

using Json = nlohmann::json;

std::string or_none(const std::string& text) { return text.empty() ? "<none>" : text; }

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_structured()) return value.dump();
  std::string text;
  for (const auto& [name, each] : value.items()) {
    if (value.is_array()) {
      text += (text.empty() ? "" : ",") + value_text(each);
    } else {
      text += std::string(text.empty() ? "" : "; ") + "{" + name + ": " + value_text(each) + "}";
    }
  }
  return text;
}

// Each option on a line; keys in PEM have several.
std::string config_text(const std::string& config) {
  const Json object = Json::parse(config, nullptr, /*allow_exceptions=*/false);
  std::vector<std::pair<std::string, std::string>> pairs;
  if (object.is_object()) {
    for (const auto& [name, value] : object.items()) pairs.emplace_back(name, or_none(value_text(value)));
  }
  return pairs.empty() ? "<none>\n" : format_pairs(pairs);
}

}  // namespace

std::string auth_method_text(const v1::AclAuthMethod& method) {
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"Name", method.name()},
      {"Type", method.type()},
      {"Locality", method.token_locality()},
      {"MaxTokenTTL", format_duration(std::chrono::nanoseconds(method.max_token_ttl()))}};
  if (!method.token_name_format().empty()) pairs.emplace_back("Token Name Format", method.token_name_format());
  pairs.insert(pairs.end(), {{"Default", yes_no(method.default_())},
                             {"Create Index", std::to_string(method.create_index())},
                             {"Modify Index", std::to_string(method.modify_index())}});
  return format_pairs(pairs) + "\nAuth Method Config\n\n" + config_text(method.config());
}

std::string binding_rule_text(const v1::AclBindingRule& rule) {
  return format_pairs({{"ID", id_text(rule.id())},
                       {"Description", or_none(rule.description())},
                       {"Auth Method", rule.auth_method()},
                       {"Selector", or_none(rule.selector())},
                       {"Bind Type", rule.bind_type()},
                       {"Bind Name", or_none(rule.bind_name())},
                       {"Create Time", full_time(rule.create_time())},
                       {"Modify Time", full_time(rule.modify_time())},
                       {"Create Index", std::to_string(rule.create_index())},
                       {"Modify Index", std::to_string(rule.modify_index())}});
}

}  // namespace drover::cli
