// Turns the reports of device plugins into the resources of a node: checked, and put together from several. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drover/api/client.pb.h"
#include "drover/v1/node.pb.h"

#include "nomad/plugins/device.pb.h"

namespace drover::agent {

// The last report of one plugin.
struct DevicesOf {
  std::string plugin;
  hashicorp::nomad::plugins::device::FingerprintResponse said;
};

struct DeviceInventory {
  v1::NodeResources resources;          // `devices` only, by "vendor/type/name"
  std::map<std::string, size_t> owner;  // "vendor/type/name" → place in the list
  std::vector<std::string> problems;    // what is not taken, and why: "plugin nvidia: …"
};

// A group that is not as it must be is left out, the others are taken. One that two plugins have is the first one's.
DeviceInventory take_inventory(const std::vector<DevicesOf>& all);

// A plugin's counts, as the API shows them.
v1::DeviceGroupStats to_api(const hashicorp::nomad::plugins::device::DeviceGroupStats& stats);

// Why a task cannot be given this: a path that is not absolute, permissions that are none. Empty when it can.
std::string problem_of(const hashicorp::nomad::plugins::device::ContainerReservation& reservation);

}  // namespace drover::agent
