#include "drover/manifest.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "drover/nearest.h"
#include "drover/plugin_kind.h"

namespace drover {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 11> kKeys = {"name",  "version",  "sdk",      "tier",     "kind",   "summary",
                                                    "roles", "provides", "requires", "commands", "enabled"};
constexpr std::array<std::string_view, 3> kRoles = {"server", "client", "command"};
constexpr std::array<std::string_view, 2> kTiers = {"stable", "exact"};

std::vector<std::string_view> kinds() {
  std::vector<std::string_view> all;
  for (const PluginKind& kind : plugin_kinds()) all.push_back(kind.point);
  all.emplace_back("module");
  return all;
}

Status text(const Json& json, std::string_view key, std::string& out) {
  auto at = json.find(key);
  if (at == json.end()) return invalid_argument("\"" + std::string(key) + "\" is missing");
  if (!at->is_string() || at->get<std::string>().empty())
    return invalid_argument("\"" + std::string(key) + "\" must be a text");
  out = at->get<std::string>();
  return ok_status();
}

Status texts(const Json& json, std::string_view key, std::vector<std::string>& out) {
  auto at = json.find(key);
  if (at == json.end()) return ok_status();
  if (!at->is_array()) return invalid_argument("\"" + std::string(key) + "\" must be a list of texts");
  for (const Json& item : *at) {
    if (!item.is_string()) return invalid_argument("\"" + std::string(key) + "\" must be a list of texts");
    out.push_back(item.get<std::string>());
  }
  return ok_status();
}

Status one_of(std::string_view key, std::string_view value, std::span<const std::string_view> valid) {
  if (std::ranges::find(valid, value) != valid.end()) return ok_status();
  std::string list;
  for (std::string_view each : valid) list += (list.empty() ? "" : ", ") + std::string(each);
  return invalid_argument("\"" + std::string(key) + "\" is \"" + std::string(value) + "\"; it must be one of " + list);
}

}  // namespace

bool Manifest::has_role(std::string_view role) const { return std::ranges::find(roles, role) != roles.end(); }

Result<Manifest> parse_manifest(std::string_view bytes) {
  Json json;
  try {
    json = Json::parse(bytes);
  } catch (const Json::parse_error& problem) {
    const std::string_view before = bytes.substr(0, std::min(problem.byte, bytes.size()));
    return invalid_argument("line " + std::to_string(1 + std::ranges::count(before, '\n')) + ": is not valid JSON");
  }
  if (!json.is_object()) return invalid_argument("must be a JSON object");
  for (const auto& [key, value] : json.items()) {
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      const std::string hint = nearest_hint(key, kKeys);
      return invalid_argument("unknown key \"" + key + "\"" + (hint.empty() ? "" : "; " + hint));
    }
  }
  Manifest manifest;
  DROVER_RETURN_IF_ERROR(text(json, "name", manifest.name));
  DROVER_RETURN_IF_ERROR(text(json, "version", manifest.version));
  DROVER_RETURN_IF_ERROR(text(json, "sdk", manifest.sdk));
  DROVER_RETURN_IF_ERROR(text(json, "tier", manifest.tier));
  DROVER_RETURN_IF_ERROR(text(json, "kind", manifest.kind));
  if (json.contains("summary")) DROVER_RETURN_IF_ERROR(text(json, "summary", manifest.summary));
  DROVER_RETURN_IF_ERROR(one_of("tier", manifest.tier, kTiers));
  DROVER_RETURN_IF_ERROR(one_of("kind", manifest.kind, kinds()));
  DROVER_RETURN_IF_ERROR(texts(json, "roles", manifest.roles));
  for (const std::string& role : manifest.roles) DROVER_RETURN_IF_ERROR(one_of("roles", role, kRoles));
  DROVER_RETURN_IF_ERROR(texts(json, "provides", manifest.provides));
  DROVER_RETURN_IF_ERROR(texts(json, "commands", manifest.commands));
  std::vector<std::string> needed;
  DROVER_RETURN_IF_ERROR(texts(json, "requires", needed));
  for (std::string& capability : needed) {
    const bool optional = capability.ends_with('?');
    if (optional) capability.pop_back();
    manifest.requirements.push_back({std::move(capability), optional});
  }
  if (auto at = json.find("enabled"); at != json.end()) {
    if (!at->is_boolean()) return invalid_argument("\"enabled\" must be true or false");
    manifest.enabled = at->get<bool>();
  }
  return manifest;
}

}  // namespace drover
