// The addresses of this machine, and texts of a configuration that stand for some of them:
//
//   {{ GetPrivateIP }}   {{ GetInterfaceIP "eth0" }}   {{ GetAllInterfaces | include "network" "10.0.0.0/8" | attr "address" }}
//
// The functions are those that configurations of this kind use (go-sockaddr's): GetPrivateIP, GetPublicIP,
// GetInterfaceIP, GetAllInterfaces, GetDefaultInterfaces, GetPrivateInterfaces, GetPublicInterfaces, include, exclude,
// sort, limit, attr, join.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover {

struct InterfaceAddress {
  std::string interface;
  std::string address;  // without a prefix's length
  bool is_up = true;
  bool is_loopback = false;
  bool is_default = false;  // the default route leads over the interface
};

// As the system says it now, in its order; none where it does not say. [any]
std::vector<InterfaceAddress> machine_addresses();

// The interface of the default route that comes first in a text like /proc/net/route; empty when there is none. Pure.
std::string parse_default_route(std::string_view routes);

// The address by which others on a private network reach this machine: one of IPv4, of the interface with the default
// route if there is one. Empty: it has none. Pure.
std::string private_address(const std::vector<InterfaceAddress>& machine);

// The text with its templates carried out; a text without is itself. Errors: invalid_argument with the template's place;
// where no address comes out, or more than one. Pure.
Result<std::string> resolve_address(const std::string& text, const std::vector<InterfaceAddress>& machine);

}  // namespace drover
