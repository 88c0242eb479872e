// The parts of a container's body, one a concern. Each adds to what there is. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "create/container_body.h"

namespace drover::docker {

// CPU, memory, processes, ulimits.
Status add_limits(const BodyInput& input, nlohmann::json& host);
// Volumes, mounts, devices. Says in `out` what they need.
Status add_mounts(const BodyInput& input, nlohmann::json& host, ContainerBody& out);
Status add_devices(const BodyInput& input, nlohmann::json& host);
// The network, names and addresses in it, ports, DNS and hosts.
Status add_network(const BodyInput& input, nlohmann::json& body, ContainerBody& out);
Status add_ports(const BodyInput& input, nlohmann::json& body, ContainerBody& out);
// Privileges, capabilities, namespaces, runtime, security_opt.
Status add_security(const BodyInput& input, nlohmann::json& host);

// Paths of the task's folders on this machine.
// True when `path` is `folder` or below it, by its text.
bool is_below(const std::string& path, const std::string& folder);
// Absolute, without "." and "..".
std::string path_from(const std::string& folder, const std::string& path);
// True when the task joins a network that another container or its group has.
bool shares_network(const BodyInput& input);
std::string network_mode(const BodyInput& input);

}  // namespace drover::docker
