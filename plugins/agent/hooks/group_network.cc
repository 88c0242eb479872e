#include "group_network.h"

#include <algorithm>

#include "driver_lookup.h"
#include "drover/model/job.h"
#include "network_namespace.h"

namespace drover::agent {
namespace {

Result<DriverAbilities> abilities_of(const Host& host, const v1::TaskGroup& group) {
  DriverAbilities abilities;
  for (const v1::Task& task : group.tasks()) {
    if (abilities.contains(task.driver())) continue;
    TaskDriver* driver = find_driver(host, task.driver());
    if (!driver) return unavailable("this node does not have the driver \"" + task.driver() + "\"");
    abilities[task.driver()] = driver->capabilities();
  }
  return abilities;
}

// `like`: its maker and the host name.
Result<StoredNetwork> make_network(const Client& client, Uuid allocation, const StoredNetwork& like) {
  StoredNetwork network = like;
  if (network.maker().empty()) {
    DROVER_TRY(*network.mutable_spec()->mutable_path(), make_network_namespace(allocation));
    network.mutable_spec()->set_mode(driver::NetworkIsolationSpec::GROUP);
    return network;
  }
  driver::CreateNetworkRequest request;
  request.set_alloc_id(allocation.to_string());
  request.set_hostname(like.spec().hostsconfig().hostname());
  DROVER_TRY(auto created, find_driver(client.host, network.maker())->create_network(request));
  *network.mutable_spec() = std::move(*created.mutable_isolation_spec());
  if (!request.hostname().empty()) network.mutable_spec()->mutable_hostsconfig()->set_hostname(request.hostname());
  return network;
}

// The name that the job wants for the network, with the allocation's own variables in it.
Result<std::string> host_name(const Client& client, const AllocSpec& spec) {
  const std::string& wanted = spec.group->networks(0).hostname();
  if (wanted.empty()) return wanted;
  const auto node = client.node();
  const std::string& region = client.host.agent().region;
  const Variables of_node = node_variables(*node, region);
  const Variables own = task_environment({.job = *spec.job,
                                          .allocation = *spec.allocation,
                                          .task = v1::Task(),
                                          .node = of_node,
                                          .region = region,
                                          .datacenter = node->datacenter(),
                                          .paths = {}});
  std::string name = interpolate(wanted, own, of_node);
  if (!is_dns_name(name)) return invalid_argument("network hostname \"" + name + "\" is not a valid DNS name");
  return name;
}

bool has_group_mode(const driver::DriverCapabilities& can) {
  const auto& modes = can.network_isolation_modes();
  return std::ranges::find(modes, driver::NetworkIsolationSpec::GROUP) != modes.end();
}

}  // namespace

bool has_own_network(const v1::TaskGroup& group) {
  return std::ranges::any_of(
      group.networks(), [](const v1::NetworkResource& one) { return !one.mode().empty() && one.mode() != "host"; });
}

Result<std::string> network_maker(const v1::TaskGroup& group, const DriverAbilities& abilities) {
  const v1::NetworkResource& network = group.networks(0);
  const v1::Task* maker = nullptr;
  for (const v1::Task& task : group.tasks()) {
    const driver::DriverCapabilities& can = abilities.at(task.driver());
    if (!has_group_mode(can))
      return invalid_argument("task " + task.name() + " does not support \"" + network.mode() + "\" networking mode");
    // Without files of its own a task shares the machine's name.
    if (!network.hostname().empty() && can.fs_isolation() == driver::DriverCapabilities::NONE)
      return invalid_argument("hostname is not currently supported on driver " + task.driver());
    if (!can.must_create_network()) continue;
    if (maker && maker->driver() != task.driver()) {
      return invalid_argument("tasks " + maker->name() + " and " + task.name() +
                              " want to initiate networking but only one driver can do so");
    }
    maker = &task;
  }
  return maker ? maker->driver() : std::string();
}

Result<StoredNetwork> set_up_network(const Client& client, const AllocSpec& spec) {
  DROVER_TRY(const DriverAbilities abilities, abilities_of(client.host, *spec.group));
  StoredNetwork like;
  DROVER_TRY(*like.mutable_maker(), network_maker(*spec.group, abilities));
  DROVER_TRY(const std::string name, host_name(client, spec));
  if (!name.empty()) like.mutable_spec()->mutable_hostsconfig()->set_hostname(name);
  auto made = make_network(client, Uuid::from_bytes(spec.allocation->id()), like);
  return made ? std::move(made) : made.status().with_context("failed to create network for alloc");
}

Result<StoredNetwork> restore_network(const Client& client, Uuid allocation, const StoredNetwork& stored) {
  if (!stored.maker().empty() && !find_driver(client.host, stored.maker())) return stored;
  auto network = make_network(client, allocation, stored);
  if (!network && network.status().code() == Code::unavailable) return stored;
  return network;
}

Status tear_down_network(const Client& client, Uuid allocation, const StoredNetwork& network) {
  if (network.maker().empty()) return remove_network_namespace(network.spec().path());
  TaskDriver* driver = find_driver(client.host, network.maker());
  if (!driver) return unavailable("this node does not have the driver \"" + network.maker() + "\" any more");
  driver::DestroyNetworkRequest request;
  request.set_alloc_id(allocation.to_string());
  *request.mutable_isolation_spec() = network.spec();
  return driver->destroy_network(request);
}

}  // namespace drover::agent
