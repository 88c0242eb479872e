// A service of an allocation as others find it: its texts filled in, and where it and its checks are reached. Pure.
//
//   service of the job ──references filled in──▶ texts ──address mode, ports, networks──▶ address and port
//
// Modes: "auto" takes the job's own `address`; without one, what a driver advertises of its network, else it is "host":
// the port as the machine has it. "driver" is the driver's network, "alloc" the one that the allocation's tasks share.
// A port is a label of the job's, or a number. Where no rule gives an address it is the node's own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drover/result.h"
#include "drover/task_environment.h"

namespace hashicorp::nomad::plugins::drivers::proto {
class NetworkOverride;
}
namespace drover::v1 {
class Service;
class ServiceCheck;
class ServiceInstance;
class TaskGroup;
}  // namespace drover::v1

namespace drover {

// A port of 0: none. An IPv6 address has no brackets.
struct ServiceAddress {
  std::string address;
  int port = 0;
  bool operator==(const ServiceAddress&) const = default;
};

// The surroundings of a service. Borrowed.
struct ServicePlace {
  const v1::Allocation& allocation;
  const v1::Task* task = nullptr;              // of the group; null: the service is the group's
  const v1::NetworkStatus* network = nullptr;  // that the allocation's tasks share; null or without address: none
  const hashicorp::nomad::plugins::drivers::proto::NetworkOverride* driver_network = nullptr;  // null: none
  const Variables& environment;  // the task's, or group_environment()
  const Variables& node;         // node_variables()
};

// The services of a group are filled in from this: the environment of a task, without what only one task has.
Variables group_environment(const v1::Job& job, const v1::Allocation& allocation, const Variables& node,
                            const v1::NetworkStatus* network);

struct ResolvedService {
  std::string id;  // "_nomad-task-<allocation>-<task, or group-GROUP>-<name>-<port as written>": no other's
  // With its checks, all references filled in. The tags and meta are those of the canary where the allocation is one
  // and the job has such. References in the `connect` block are not filled in.
  std::shared_ptr<const v1::Service> service;
  ServiceAddress at;
  // Of each of its checks, in their order: the same for the same check of the same allocation, whatever its references
  // are filled in with. In hexadecimal.
  std::vector<std::string> check_ids;
};

// The identifier that the service has once its references are filled in. As resolve_service gives it.
std::string service_id(const v1::Service& filled, const ServicePlace& place);
// ResolvedService::check_ids of a service as the job has it.
std::vector<std::string> check_ids(const v1::Service& service, const ServicePlace& place);

// Errors: invalid_argument "unable to get address for service "NAME": …"; failed_precondition with the same beginning
// where the network that it asks for is not there.
Result<ResolvedService> resolve_service(const v1::Service& service, const ServicePlace& place);

// Where a check of this service is reached: by its own mode, else as the service; by its own port, else the service's.
// A driver's network is used only where the check asks for it by its mode and the service is in Consul; the network of
// the allocation also for services of tasks.
// Requires: `check` is one of `service.service`. Errors: as resolve_service, "… for check "NAME": …".
Result<ServiceAddress> resolve_check(const v1::ServiceCheck& check, const ResolvedService& service,
                                     const ServicePlace& place);

// Consul's namespace of the task: where its services stand and its templates look. Empty: that of the node's agent.
const std::string& consul_namespace(const v1::TaskGroup& group, const v1::Task& task);

// As providers are told of it. Passing: whoever knows of checks says otherwise. Without the checks that nothing can
// reach.
v1::ServiceInstance service_instance(const ResolvedService& service, const ServicePlace& place);

}  // namespace drover
