// Networks of this machine that jobs ask for by name (client.host_network). Pure.
#pragma once

#include <string>
#include <vector>

#include "client_config.h"
#include "drover/machine_addresses.h"
#include "drover/result.h"

namespace drover::v1 {
class NodeNetwork;
}  // namespace drover::v1

namespace drover::agent {

// The node's networks: of each interface the addresses that jobs may ask for, by name. `chosen` is the network
// "default", unless one of that name is configured. Errors: not_found for a configured network that no address is of.
Result<std::vector<v1::NodeNetwork>> host_networks(const std::vector<HostNetwork>& configured,
                                                   const std::vector<InterfaceAddress>& found,
                                                   const InterfaceAddress& chosen);

}  // namespace drover::agent
