// How the agent shows its configuration: in the API's names and forms, without secrets.
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "drover/agent_config.h"
#include "drover/duration.h"
#include "plugin_options.h"

namespace drover {
namespace {

using nlohmann::json;
using Options = std::vector<ConfigOption>;

constexpr const char* kRedacted = "<redacted>";

// By its name, inside of values that no schema describes. Options of a schema say so themselves.
bool sounds_secret(std::string_view name) {
  constexpr std::string_view kSecrets[] = {"encrypt", "token", "auth", "secret", "password"};
  return std::ranges::find(kSecrets, name) != std::end(kSecrets) || name.ends_with("_token") ||
         name.ends_with("_secret") || name.ends_with("_password");
}

// "node_gc_threshold" is NodeGCThreshold.
std::string api_name(const ConfigOption& option) {
  if (!option.api_name.empty()) return option.api_name;
  constexpr std::string_view kInitialisms[] = {"acl", "api", "ca",  "cni", "csi",  "gc",  "http", "https",
                                               "mb",  "rpc", "tls", "ttl", "uuid", "url", "ui"};
  std::string out;
  std::string_view rest = option.name;
  while (!rest.empty()) {
    std::string word(rest.substr(0, rest.find('_')));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const bool is_initialism = std::ranges::find(kInitialisms, word) != std::end(kInitialisms);
    for (size_t i = 0; i < word.size() && (i == 0 || is_initialism); ++i)
      word[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[i])));
    out += word;
  }
  return out;
}

void redact(json& value) {
  if (!value.is_structured()) return;
  for (auto& [name, element] : value.items()) {
    if (value.is_object() && sounds_secret(name))
      element = kRedacted;
    else
      redact(element);
  }
}

json as_written(const hcl::Value& value) {
  json out = json::parse(hcl::to_json(value), nullptr, false);
  redact(out);
  return out;
}

json empty_value(const ConfigOption& option) {
  switch (option.type) {
    case ConfigType::string:
      return "";
    case ConfigType::boolean:
      return false;
    case ConfigType::integer:
    case ConfigType::number:
    case ConfigType::bytes:
      return 0;
    case ConfigType::duration:
      return option.is_api_text ? json("") : json(0);
    default:
      return nullptr;
  }
}

json value_of_attribute(const ConfigOption& option, const hcl::Value& value) {
  if (option.is_secret) return kRedacted;
  if (option.is_api_text) return format_duration(std::chrono::nanoseconds(hcl::as_integer(value).value_or(0)));
  return as_written(value);
}

json block_to_json(const ConfigBlock& block, const Options& options);

json list_of(const ConfigBlock& block, const ConfigOption& option) {
  json list;
  for (const ConfigBlock* one : block.all(option.name)) {
    json& shown = list.emplace_back(block_to_json(*one, option.options));
    if (!one->labels.empty()) shown["Name"] = one->labels.front();
  }
  return list;
}

json option_to_json(const ConfigBlock& block, const ConfigOption& option) {
  if (const hcl::Value* value = block.find(option.name)) return value_of_attribute(option, *value);
  const ConfigBlock* inner = block.block(option.name);
  switch (option.type) {
    case ConfigType::block:
      return block_to_json(inner ? *inner : ConfigBlock(), option.options);
    case ConfigType::labelled_block:
    case ConfigType::repeated_block:
      return list_of(block, option);
    default:
      return inner ? as_written(value_of(*inner)) : empty_value(option);
  }
}

json block_to_json(const ConfigBlock& block, const Options& options) {
  json out = json::object();
  for (const ConfigOption& option : options) out[api_name(option)] = option_to_json(block, option);
  return out;
}

// Blanks what the schema of a plugin's config calls secret.
void blank_config(json& plugin, const DeclaredBlocks& declared) {
  const std::string kind = plugin.value("Kind", "");
  const auto schema =
      declared.find(kind.empty() ? "plugin:" + plugin.value("Name", "") : std::string(kPluginKind) + kind);
  const auto config = plugin.find("Config");
  if (schema == declared.end() || config == plugin.end()) return;
  for (const ConfigOption& option : schema->second.options) {
    if (option.is_secret && config->contains(option.name)) (*config)[option.name] = kRedacted;
  }
}

}  // namespace

std::string config_to_json(const RawConfig& raw, const DeclaredBlocks& declared, const ConfigBlock& checked) {
  json out = block_to_json(checked, agent_schema(declared).options);
  if (const auto plugins = out.find("Plugins"); plugins != out.end()) {
    for (json& plugin : *plugins) blank_config(plugin, declared);
  }
  out["DevMode"] = raw.dev;
  out["Files"] = raw.files.empty() ? json() : json(raw.files);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace drover
