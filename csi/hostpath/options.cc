#include "options.h"

#include <cxxopts.hpp>
#include <filesystem>
#include <iostream>

#include "drover/plugin_programs/handshake.h"
#include "drover/units.h"
#include "ledger/checks.h"

namespace drover::hostpath {
namespace {

cxxopts::Options all_options() {
  cxxopts::Options options("drover-csi-hostpath",
                           "A storage plugin whose volumes are folders and files of this machine.");
  auto add = options.add_options();
  const auto text = [] { return cxxopts::value<std::string>(); };
  add("endpoint", "The socket, as unix:///PATH.sock; without it $CSI_ENDPOINT", text());
  add("node-id", "This node's name, of its own among all that share the data", text());
  add("data-dir", "The folder of all volumes; instances may share it", text());
  add("max-volumes", "As many volumes this node may have; 0: any number",
      cxxopts::value<int64_t>()->default_value("0"));
  add("topology", "KEY=VALUE: a segment of this node's place; may be given several times",
      cxxopts::value<std::vector<std::string>>());
  add("capacity", "Bytes of all volumes together, as 10GiB; without it what the file system has", text());
  add("attach", "Volumes are attached by the controller before a node may use them");
  add("no-controller", "Does not serve the controller");
  add("controller-elsewhere", "With --no-controller: another instance serves it");
  add("no-node", "Does not serve the node");
  add("version", "Prints the version");
  add("help", "Prints this");
  return options;
}

std::string text_of(const cxxopts::ParseResult& given, const char* name) {
  return given.count(name) ? given[name].as<std::string>() : std::string();
}

Result<std::string> socket_of(std::string endpoint) {
  if (endpoint.empty()) return invalid_argument("--endpoint: is missing, and CSI_ENDPOINT is not set");
  for (const std::string_view scheme : {"unix://", "unix:"}) {
    if (!endpoint.starts_with(scheme)) continue;
    endpoint.erase(0, scheme.size());
    break;
  }
  if (!endpoint.starts_with('/')) return invalid_argument("--endpoint: is no unix:///PATH");
  if (endpoint.size() > plugin_programs::kMaxSocketPath)
    return invalid_argument("--endpoint: the path of a socket may have 107 bytes");
  return endpoint;
}

Result<std::string> folder_of(const std::string& given) {
  if (given.empty()) return invalid_argument("--data-dir: is missing");
  std::error_code error;
  const auto path = std::filesystem::weakly_canonical(given, error);
  if (error || !path.is_absolute() || path == "/") return invalid_argument("--data-dir: is no folder of its own");
  std::string text = path.string();
  if (text.ends_with('/')) text.pop_back();
  return text;
}

Result<int64_t> bytes_of(const std::string& given) {
  if (given.empty()) return int64_t{0};
  const auto quantity = parse_quantity(given);
  const int64_t* const number = quantity ? std::get_if<int64_t>(&quantity->number) : nullptr;
  const bool is_size = number && *number > 0 && (!quantity->unit || quantity->unit->base == Unit::Base::byte);
  int64_t bytes = 0;
  if (!is_size || __builtin_mul_overflow(*number, quantity->unit ? quantity->unit->multiplier : 1, &bytes))
    return invalid_argument("--capacity: is no size, as 10GiB");
  return bytes;
}

Status add_places(const cxxopts::ParseResult& given, Settings& settings) {
  if (!given.count("topology")) return {};
  for (const std::string& each : given["topology"].as<std::vector<std::string>>()) {
    const size_t at = each.find('=');
    if (at == 0 || at == std::string::npos || at + 1 == each.size())
      return invalid_argument("--topology: \"" + each + "\" is no KEY=VALUE");
    if (!settings.topology.emplace(each.substr(0, at), each.substr(at + 1)).second)
      return invalid_argument("--topology: \"" + each.substr(0, at) + "\" is given twice");
  }
  return {};
}

Status check_services(const Settings& settings) {
  if (!settings.has_controller && !settings.has_node)
    return invalid_argument("--no-controller, --no-node: one of both must be served");
  if (settings.controller_elsewhere && settings.has_controller)
    return invalid_argument("--controller-elsewhere: needs --no-controller");
  return {};
}

Result<std::optional<Settings>> settings_of(const cxxopts::ParseResult& given, const char* endpoint) {
  Settings settings;
  const std::string wanted = text_of(given, "endpoint");
  DROVER_TRY(settings.socket, socket_of(wanted.empty() && endpoint ? endpoint : wanted));
  DROVER_TRY(settings.data_dir, folder_of(text_of(given, "data-dir")));
  settings.node_id = text_of(given, "node-id");
  if (const Status id = check_id(settings.node_id, "--node-id", 256); !id.ok()) return id;
  settings.max_volumes = given["max-volumes"].as<int64_t>();
  if (settings.max_volumes < 0) return invalid_argument("--max-volumes: is negative");
  DROVER_RETURN_IF_ERROR(add_places(given, settings));
  DROVER_TRY(settings.capacity, bytes_of(text_of(given, "capacity")));
  settings.attaches = given.count("attach") != 0;
  settings.has_controller = given.count("no-controller") == 0;
  settings.controller_elsewhere = given.count("controller-elsewhere") != 0;
  settings.has_node = given.count("no-node") == 0;
  DROVER_RETURN_IF_ERROR(check_services(settings));
  return std::optional<Settings>(settings);
}

}  // namespace

Result<std::optional<Settings>> parse_options(int count, const char* const* arguments, const char* endpoint) {
  cxxopts::Options options = all_options();
  try {
    const cxxopts::ParseResult given = options.parse(count, arguments);
    if (!given.unmatched().empty())
      return invalid_argument("there are no arguments but options: " + given.unmatched()[0]);
    if (given.count("help") || given.count("version")) {
      std::cout << (given.count("help") ? options.help() : "drover-csi-hostpath " DROVER_HOSTPATH_VERSION "\n");
      return std::optional<Settings>();
    }
    return settings_of(given, endpoint);
  } catch (const cxxopts::exceptions::exception& error) {
    return invalid_argument(error.what());
  }
}

}  // namespace drover::hostpath
