#include "cni/call.h"

#include <nlohmann/json.hpp>

#include "drover/v1/allocation.pb.h"

namespace drover::networks::cni {
namespace {

using Json = nlohmann::json;

std::string joined(const std::vector<std::string>& folders) {
  std::string path;
  for (const std::string& folder : folders) path += (path.empty() ? "" : ":") + folder;
  return path;
}

std::string arguments_of(const Wanted& wanted) {
  std::string text = "IgnoreUnknown=true";
  for (const auto& [name, value] : wanted.arguments) text += ";" + name + "=" + value;
  return text;
}

Json port_mappings(const Wanted& wanted) {
  Json mappings = Json::array();
  for (const StoredPort& port : wanted.ports) {
    for (const char* protocol : {"tcp", "udp"}) {
      mappings.push_back({{"hostPort", port.host()},
                          {"containerPort", port.inside()},
                          {"protocol", protocol},
                          {"hostIP", port.host_ip()}});
    }
  }
  return mappings;
}

// The declared abilities of the plugin, with what this run knows for them.
Json runtime_config(const Json& plugin, const Wanted& wanted) {
  Json runtime = Json::object();
  const auto declared = plugin.find("capabilities");
  const bool maps_ports =
      declared != plugin.end() && declared->is_object() && declared->value("portMappings", Json(false)) == true;
  if (maps_ports && !wanted.ports.empty()) runtime["portMappings"] = port_mappings(wanted);
  return runtime;
}

std::string text_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

const Json& list_at(const Json& object, const char* key) {
  static const Json none = Json::array();
  const auto at = object.find(key);
  return at != object.end() && at->is_array() ? *at : none;
}

// "172.26.64.2" of the first address of an interface.
std::string address_at(const Json& result, size_t interface) {
  for (const Json& ip : list_at(result, "ips")) {
    if (!ip.is_object()) continue;
    const auto at = ip.find("interface");
    if (at == ip.end() || !at->is_number_unsigned() || at->get<size_t>() != interface) continue;
    const std::string address = text_at(ip, "address");
    return address.substr(0, address.find('/'));
  }
  return {};
}

void add_strings(const Json& from, google::protobuf::RepeatedPtrField<std::string>& to) {
  for (const Json& one : from) {
    if (one.is_string()) to.Add(one.get<std::string>());
  }
}

void read_dns(const Json& result, v1::NetworkStatus& status) {
  const auto dns = result.find("dns");
  if (dns == result.end() || !dns->is_object() || dns->empty()) return;
  v1::DnsConfig found;
  add_strings(list_at(*dns, "nameservers"), *found.mutable_servers());
  add_strings(list_at(*dns, "search"), *found.mutable_searches());
  add_strings(list_at(*dns, "options"), *found.mutable_options());
  if (found.ByteSizeLong() > 0) *status.mutable_dns() = std::move(found);
}

}  // namespace

PluginCall plugin_call(const std::string& command, const NetworkList& list, size_t at, const Wanted& wanted,
                       const std::string& previous, const std::vector<std::string>& path) {
  Json config = Json::parse(list.plugins[at]);
  PluginCall call{.command = command,
                  .type = config["type"].get<std::string>(),
                  .environment = {"CNI_COMMAND=" + command, "CNI_CONTAINERID=" + wanted.allocation,
                                  "CNI_NETNS=" + wanted.path, std::string("CNI_IFNAME=") + kInterface,
                                  "CNI_ARGS=" + arguments_of(wanted), "CNI_PATH=" + joined(path)},
                  .input = {}};
  config["name"] = list.name;
  config["cniVersion"] = list.version;
  Json runtime = runtime_config(config, wanted);
  config.erase("capabilities");
  if (!runtime.empty()) config["runtimeConfig"] = std::move(runtime);
  if (!previous.empty()) config["prevResult"] = Json::parse(previous);
  call.input = config.dump();
  return call;
}

Result<std::string> read_answer(const PluginCall& call, const PluginAnswer& answer) {
  const std::string what =
      "plugin type=\"" + call.type + "\" failed (" + (call.command == "ADD" ? "add" : "delete") + "): ";
  const Json said = Json::parse(answer.output, nullptr, false);
  if (answer.code != 0) {
    if (answer.output.empty())
      return unavailable(what + "netplugin failed with no error message: " + answer.errors.substr(0, 1000));
    const std::string message = said.is_object() ? text_at(said, "msg") : answer.output.substr(0, 1000);
    const std::string details = said.is_object() ? text_at(said, "details") : std::string();
    return unavailable(what + message + (details.empty() ? "" : "; " + details));
  }
  if (answer.output.empty()) return answer.output;
  if (!said.is_object()) return unavailable(what + "it printed no JSON object");
  return answer.output;
}

Result<v1::NetworkStatus> status_of(std::string_view text) {
  const Json result = Json::parse(text, nullptr, false);
  v1::NetworkStatus status, other;
  size_t at = 0;
  for (const Json& interface : list_at(result, "interfaces")) {
    const std::string address = address_at(result, at++);
    if (address.empty() || !interface.is_object()) continue;
    v1::NetworkStatus& found = text_at(interface, "sandbox").empty() ? other : status;
    if (!found.address().empty()) continue;
    found.set_interface_name(text_at(interface, "name"));
    found.set_address(address);
  }
  if (status.address().empty()) status = other;
  if (status.address().empty())
    return invalid_argument("failed to configure network: no interface with an address");
  read_dns(result, status);
  return status;
}

}  // namespace drover::networks::cni
