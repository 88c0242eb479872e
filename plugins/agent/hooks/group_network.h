// The network that the tasks of one allocation share when it is not the machine's: who makes it, and its life.
//
//   (none) ──set_up──▶ made, and stored ──every task ended──▶ tear_down ──▶ (none)
//             └─ again after a restart of the agent: it is found, or made anew after one of the machine
//
// The agent makes an empty namespace (network_namespace.h), unless the driver of a task must make it itself
// (TaskDriver::create_network). Interfaces in it are the business of a hook that comes after; mode "none" has none but
// its own loopback.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "client.h"

#include "agent_state.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {

// The capabilities of the drivers of a group's tasks, by the name of the driver.
using DriverAbilities = std::map<std::string, driver::DriverCapabilities>;

// True when a group of this network mode shares a network of its own. Pure.
bool has_own_network(const v1::TaskGroup& group);
// The driver that makes it; empty: the agent does. Errors: invalid_argument when a driver cannot join one, when two
// want to make it, and for a host name that a task cannot have. Pure.
Result<std::string> network_maker(const v1::TaskGroup& group, const DriverAbilities& abilities);

// Makes it, or finds it. May block as long as the driver does. Errors: invalid_argument for a group that cannot have
// one; else what went wrong.
Result<StoredNetwork> set_up_network(const Client& client, const AllocSpec& spec);
// Finds the network as it was stored, or makes it anew; while its driver is away, as it was. Errors: what went wrong.
Result<StoredNetwork> restore_network(const Client& client, Uuid allocation, const StoredNetwork& stored);
// Also tears down one that is gone. Requires: no task is in it any more.
Status tear_down_network(const Client& client, Uuid allocation, const StoredNetwork& network);

}  // namespace drover::agent
