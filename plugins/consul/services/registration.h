// This node's wishes for Consul: its service instances as registrations. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "client/consul_client.h"

namespace drover::v1 {
class InstanceCheck;
class ServiceInstance;
}  // namespace drover::v1

namespace drover::consul {

// Identifiers begin so, as Nomad's: other people's tools know them by it.
inline constexpr std::string_view kServicePrefix = "_nomad-task-";
inline constexpr std::string_view kCheckPrefix = "_nomad-check-";
// The meta entry that says which node registered a service. Services without it are somebody else's.
inline constexpr const char* kNodeMeta = "drover-node";

struct WantedCheck {
  std::string body;  // the registration on its own, JSON
};

struct WantedService {
  KnownService service;                        // as Consul will have it
  std::map<std::string, WantedCheck> checks{};  // by Consul's identifier
};

// The identifier of a check in Consul, by that of InstanceCheck.
std::string check_id(const std::string& of_instance);
// True for types that Consul runs by itself; it is told the results of others.
bool consul_runs(std::string_view type);

// Errors: invalid_argument for what Consul cannot have.
Result<WantedService> wanted_service(const v1::ServiceInstance& instance, const std::string& node_id);

// The registration of a service with its checks, JSON. `tags`: in place of its own.
std::string registration_of(const WantedService& wanted, const std::vector<std::string>& tags);

}  // namespace drover::consul
