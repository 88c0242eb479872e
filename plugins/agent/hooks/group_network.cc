#include "group_network.h"

#include <algorithm>

#include "driver_lookup.h"
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

Result<StoredNetwork> make_network(const Client& client, Uuid allocation, const std::string& maker) {
  StoredNetwork network;
  network.set_maker(maker);
  if (maker.empty()) {
    DROVER_TRY(*network.mutable_spec()->mutable_path(), make_network_namespace(allocation));
    network.mutable_spec()->set_mode(driver::NetworkIsolationSpec::GROUP);
    return network;
  }
  driver::CreateNetworkRequest request;
  request.set_alloc_id(allocation.to_string());
  DROVER_TRY(auto created, find_driver(client.host, maker)->create_network(request));
  *network.mutable_spec() = std::move(*created.mutable_isolation_spec());
  return network;
}

}  // namespace

bool has_own_network(const v1::TaskGroup& group) {
  return std::ranges::any_of(
      group.networks(), [](const v1::NetworkResource& one) { return !one.mode().empty() && one.mode() != "host"; });
}

Result<std::string> network_maker(const DriverAbilities& abilities) {
  std::string maker;
  for (const auto& [name, can] : abilities) {
    const auto& modes = can.network_isolation_modes();
    if (std::ranges::find(modes, driver::NetworkIsolationSpec::GROUP) == modes.end()) {
      return invalid_argument("tasks of the driver \"" + name + "\" cannot share a network of their own");
    }
    if (!can.must_create_network()) continue;
    if (!maker.empty()) {
      return invalid_argument("the drivers \"" + maker + "\" and \"" + name +
                              "\" both have to make the group's network, and only one can");
    }
    maker = name;
  }
  return maker;
}

Result<StoredNetwork> set_up_network(const Client& client, Uuid allocation, const v1::TaskGroup& group) {
  DROVER_TRY(const DriverAbilities abilities, abilities_of(client.host, group));
  DROVER_TRY(const std::string maker, network_maker(abilities));
  return make_network(client, allocation, maker);
}

Result<StoredNetwork> restore_network(const Client& client, Uuid allocation, const StoredNetwork& stored) {
  if (!stored.maker().empty() && !find_driver(client.host, stored.maker())) return stored;
  auto network = make_network(client, allocation, stored.maker());
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
