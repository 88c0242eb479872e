// How much of a node is taken, and whether more fits: cpu, memory, disk, ports and devices. Pure; one owner.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "devices.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

struct Amount {
  int64_t cpu = 0;  // MHz
  int64_t memory_mb = 0;
  int64_t disk_mb = 0;

  Amount& operator+=(const Amount& other);
  Amount& operator-=(const Amount& other);
  friend bool operator==(const Amount&, const Amount&) = default;
};

// The capacity for allocations: the node's resources without the reserved ones.
Amount capacity_of(const v1::Node& node);
Amount amount_of(const v1::AllocatedResources& resources);
Amount amount_of(const v1::TaskGroup& group);

// Reads "22,80,8000-8010". Anything that is no port is left out: the node's agent has checked it.
std::set<int32_t> parse_ports(std::string_view text);

// The address that ports are bound to, and the device it belongs to; empty when the node has no network.
struct HostNetwork {
  std::string device;
  std::string ip;
  friend bool operator==(const HostNetwork&, const HostNetwork&) = default;
};
HostNetwork host_network_of(const v1::Node& node);

// One node and the allocations counted on it.
class NodeRoom {
 public:
  explicit NodeRoom(const v1::Node& node);

  void add(const v1::AllocatedResources& resources);
  void remove(const v1::AllocatedResources& resources);

  // The first dimension in which the node is too small for `ask` on top of what is taken: "cpu", "memory", "disk";
  // empty when it fits.
  std::string exhausted(const Amount& ask) const;
  // Says what keeps the group's ports off this node: "network: …"; empty when they fit.
  std::string ports_exhausted(const v1::TaskGroup& group) const;
  // True when what is counted exceeds the node, or two allocations hold the same port or device.
  bool overcommitted() const;

  // The resources that the group gets here, without devices. `seed` alone chooses dynamic ports, so the same question
  // has the same answer. Requires: exhausted and ports_exhausted said that it fits.
  v1::AllocatedResources grant(const v1::TaskGroup& group, std::string_view seed) const;

  // 0 (an empty node) to 18 (a full one) with `ask` on top.
  double binpack(const Amount& ask) const;

  const Amount& capacity() const { return capacity_; }
  const Amount& used() const { return used_; }
  const TakenDevices& devices() const { return devices_; }
  friend bool operator==(const NodeRoom&, const NodeRoom&) = default;

 private:
  bool taken(int32_t port) const { return reserved_.contains(port) || ports_.contains(port); }

  Amount capacity_;
  Amount used_;
  HostNetwork network_;
  std::set<int32_t> reserved_;
  std::multiset<int32_t> ports_;
  TakenDevices devices_;
  int32_t first_dynamic_;
  int32_t last_dynamic_;
};

}  // namespace drover::scheduler
