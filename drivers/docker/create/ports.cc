#include <algorithm>
#include <nlohmann/json.hpp>

#include "create/parts.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

struct Published {
  std::string label, host_ip;
  int host_port = 0, container_port = 0;
};

// Both protocols: a job's port is for either.
void add(const Published& port, Json& exposed, Json& bindings) {
  for (const char* protocol : {"/tcp", "/udp"}) {
    const std::string key = std::to_string(port.container_port) + protocol;
    exposed[key] = Json::object();
    bindings[key].push_back({{"HostIp", port.host_ip}, {"HostPort", std::to_string(port.host_port)}});
  }
}

Result<std::vector<Published>> by_labels(const BodyInput& input) {
  std::vector<Published> out;
  const auto& given = input.task.resources().ports();
  for (const std::string& label : *input.options.ports) {
    const auto at = std::ranges::find(given, label, &driver::PortMapping::label);
    if (at == given.end()) return invalid_argument("Port \"" + label + "\" not found, check network block");
    out.push_back({.label = label,
                   .host_ip = at->host_ip(),
                   .host_port = at->value(),
                   .container_port = at->to() > 0 ? at->to() : at->value()});
  }
  return out;
}

// The older form: ports of the task's own network, mapped by the driver.
Result<std::vector<Published>> by_map(const BodyInput& input, ContainerBody& out) {
  if (!input.task.resources().ports().empty())
    return invalid_argument("'port_map' cannot map group network ports, use 'ports' instead");
  const auto& networks = input.task.resources().allocated_resources().networks();
  if (networks.empty()) return invalid_argument("Trying to map ports but no network interface is available");
  std::vector<Published> published;
  for (const driver::NetworkResource& network : networks) {
    for (const auto* ports : {&network.reserved_ports(), &network.dynamic_ports()}) {
      for (const driver::NetworkPort& port : *ports) {
        const auto mapped = input.options.port_map.find(port.label());
        int inside = port.value();
        if (mapped != input.options.port_map.end()) inside = std::atoi(mapped->second.c_str());
        out.port_map[port.label()] = inside;
        published.push_back({port.label(), network.ip(), port.value(), inside});
      }
    }
  }
  for (const auto& [label, port] : input.options.port_map) {
    if (!out.port_map.contains(label)) return invalid_argument("Port \"" + label + "\" not found, check network block");
  }
  return published;
}

}  // namespace

Status add_ports(const BodyInput& input, Json& body, ContainerBody& out) {
  std::vector<Published> ports;
  if (input.options.ports) {
    DROVER_TRY(ports, by_labels(input));
  } else if (!input.options.port_map.empty()) {
    DROVER_TRY(ports, by_map(input, out));
  }
  // A container that shares a network has its ports where that network is.
  if (shares_network(input) || network_mode(input) == "host") return ok_status();
  Json exposed = Json::object(), bindings = Json::object();
  for (const Published& port : ports) {
    if (port.container_port < 1 || port.container_port > 65535)
      return invalid_argument("port \"" + port.label + "\" is mapped to " + std::to_string(port.container_port) +
                              ", which is no port");
    add(port, exposed, bindings);
  }
  if (!ports.empty()) {
    body["ExposedPorts"] = std::move(exposed);
    body["HostConfig"]["PortBindings"] = std::move(bindings);
  }
  return ok_status();
}

}  // namespace drover::docker
