#include "fingerprint/host_networks.h"

#include <algorithm>

#include "drover/v1/node.pb.h"
#include "fingerprint/host_ranges.h"

namespace drover::agent {
namespace {

bool belongs(const InterfaceAddress& address, const HostNetwork& network) {
  return (network.interface.empty() || network.interface == address.interface) &&
         (network.cidr.empty() || is_in_cidr(address.address, network.cidr));
}

Status nothing_found(const HostNetwork& network) {
  const std::string range = network.cidr.empty() ? "" : " in " + network.cidr;
  const std::string who = network.interface.empty() ? "no interface of this machine has an address"
                                                    : "interface \"" + network.interface + "\" has no address";
  return not_found("client.host_network \"" + network.name + "\": " + who + range);
}

}  // namespace

Result<std::vector<v1::NodeNetwork>> host_networks(const std::vector<HostNetwork>& configured,
                                                   const std::vector<InterfaceAddress>& found,
                                                   const InterfaceAddress& chosen) {
  std::vector<v1::NodeNetwork> networks;
  const auto add = [&](const InterfaceAddress& address, const std::string& alias, const std::string& reserved) {
    auto at = std::ranges::find(networks, address.interface, &v1::NodeNetwork::device);
    if (at == networks.end()) {
      at = networks.insert(networks.end(), v1::NodeNetwork());
      at->set_mode("host");
      at->set_device(address.interface);
    }
    v1::NodeAddress& entry = *at->add_addresses();
    entry.set_family(address.address.find(':') == std::string::npos ? "ipv4" : "ipv6");
    entry.set_alias(alias);
    entry.set_address(address.address);
    entry.set_reserved_ports(reserved);
  };
  if (std::ranges::find(configured, "default", &HostNetwork::name) == configured.end()) add(chosen, "default", "");
  for (const HostNetwork& network : configured) {
    bool any = false;
    for (const InterfaceAddress& address : found) {
      if (!belongs(address, network)) continue;
      add(address, network.name, network.reserved_ports);
      any = true;
    }
    if (!any) return nothing_found(network);
  }
  return networks;
}

}  // namespace drover::agent
