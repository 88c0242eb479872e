// Servers of drover as Consul knows them.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "client/consul_client.h"

namespace drover::consul {

// The addresses in an answer of /v1/catalog/service/NAME, "host:port", in its order. Pure. Errors: unavailable for what
// is no such answer.
Result<std::vector<std::string>> addresses_in(const std::string& body);

// Those of the service with that tag, "rpc" or "serf": in the first datacenter that knows any, Consul's own first, of
// kMostDatacenters at most. Errors: not_found; as Consul's calls.
inline constexpr size_t kMostDatacenters = 9;
Result<std::vector<std::string>> find_servers(const ConsulClient& client, const std::string& service,
                                              std::string_view tag, std::stop_token stop);

}  // namespace drover::consul
