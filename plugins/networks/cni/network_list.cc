#include "cni/network_list.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drover/read_all.h"

namespace drover::networks::cni {
namespace {

using Json = nlohmann::json;

constexpr const char* kBridgeVersion = "0.4.0";
constexpr const char* kOldestVersion = "0.1.0";  // of a list that says none

Json range(const Subnet& subnet) { return Json::array({{{"subnet", to_string(subnet)}}}); }

Status add_plugin(const Json& plugin, NetworkList& list) {
  const auto type = plugin.is_object() ? plugin.find("type") : plugin.end();
  // It names a program in one of the operator's folders.
  const bool is_name = type != plugin.end() && type->is_string() && *type != "" &&
                       type->get_ref<const std::string&>().find('/') == std::string::npos;
  if (!is_name) return invalid_argument("a plugin has no \"type\" that names a program");
  list.plugins.push_back(plugin.dump());
  return ok_status();
}

Result<std::string> text_of_file(const std::string& path) {
  std::ifstream file(path);
  if (!file.is_open()) return unavailable("read " + path);
  return read_all(file);
}

}  // namespace

Result<NetworkList> parse_list(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return invalid_argument("it is no JSON object");
  const auto string_at = [&](const char* key) {
    const auto at = json.find(key);
    return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  NetworkList list{.name = string_at("name"), .version = string_at("cniVersion"), .plugins = {}};
  if (list.version.empty()) list.version = kOldestVersion;
  if (list.name.empty()) return invalid_argument("\"name\" is missing");
  if (const auto plugins = json.find("plugins"); plugins != json.end()) {
    if (!plugins->is_array() || plugins->empty()) return invalid_argument("\"plugins\" is no list of plugins");
    for (const Json& plugin : *plugins) DROVER_RETURN_IF_ERROR(add_plugin(plugin, list));
  } else {
    DROVER_RETURN_IF_ERROR(add_plugin(json, list));
  }
  return list;
}

std::string to_json(const NetworkList& list) {
  Json plugins = Json::array();
  for (const std::string& plugin : list.plugins) plugins.push_back(Json::parse(plugin));
  return Json{{"name", list.name}, {"cniVersion", list.version}, {"plugins", std::move(plugins)}}.dump();
}

NetworkList bridge_list(const Config& config) {
  Json ranges = Json::array({range(config.subnet)});
  Json routes = Json::array({{{"dst", "0.0.0.0/0"}}});
  if (config.subnet6) {
    ranges.push_back(range(*config.subnet6));
    routes.push_back({{"dst", "::/0"}});
  }
  const Json loopback = {{"type", "loopback"}};
  const Json bridge = {
      {"type", "bridge"},
      {"bridge", config.bridge},
      {"ipMasq", true},
      {"isGateway", true},
      {"forceAddress", true},
      {"hairpinMode", config.is_hairpin},
      {"ipam", {{"type", "host-local"}, {"ranges", std::move(ranges)}, {"routes", std::move(routes)}}}};
  const Json firewall = {{"type", "firewall"}, {"backend", "iptables"}, {"iptablesAdminChainName", kAdminChain}};
  const Json portmap = {{"type", "portmap"}, {"capabilities", {{"portMappings", true}}}, {"snat", true}};
  return {.name = config.bridge,
          .version = kBridgeVersion,
          .plugins = {loopback.dump(), bridge.dump(), firewall.dump(), portmap.dump()}};
}

Result<std::vector<FoundList>> find_lists(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension();
    if (extension == ".conf" || extension == ".conflist" || extension == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  if (files.empty()) return not_found("no CNI network config found in " + folder);
  std::vector<FoundList> found;
  for (const std::string& file : files) {
    const auto text = text_of_file(file);
    auto list = text ? parse_list(*text) : Result<NetworkList>(text.status());
    found.push_back({file, list ? std::move(list) : list.status().with_context(file)});
  }
  return found;
}

Result<NetworkList> find_list(const std::string& folder, const std::string& name) {
  DROVER_TRY(auto found, find_lists(folder));
  Status missing = not_found("CNI network config not found for name \"" + name + "\"");
  for (FoundList& one : found) {
    if (one.list.ok() && one.list->name == name) return std::move(one.list);
    if (!one.list.ok()) missing = not_found(std::string(missing.message()) + "; " + one.list.status().message());
  }
  return missing;
}

}  // namespace drover::networks::cni
