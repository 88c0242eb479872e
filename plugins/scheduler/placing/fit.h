// How much of a node is taken, and whether more fits: cpu, memory, disk, cores, ports and devices. Pure; one owner.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "devices.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/node.pb.h"
#include "ports.h"

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
// The most that an allocation or a group takes at one time: tasks that run before or after the main ones share their
// room. Tasks with reserved cores take the share of these in the node, which `mhz_per_core` tells.
Amount amount_of(const v1::AllocatedResources& resources);
Amount amount_of(const v1::TaskGroup& group, int64_t mhz_per_core = 0);

// The share of its node that an allocation takes.
struct Usage {
  Amount amount;
  std::vector<HeldPort> ports;
  std::vector<uint32_t> cores;
  TakenDevices devices;
};
Usage usage_of(const v1::AllocatedResources& resources);

// The part of packing that belongs to what is there: 10^(share that is free). What an allocation takes on top of it is
// a factor, power_of_ask(): the product is 10^(share that is left). 1 where there is no capacity.
double power_of_free(int64_t capacity, int64_t used);
double power_of_ask(int64_t capacity, int64_t ask);

// One node and the allocations counted on it.
class NodeRoom {
 public:
  explicit NodeRoom(const v1::Node& node);

  void add(const Usage& usage);
  void remove(const Usage& usage);

  // The first dimension in which the node is too small for the group on top of what is taken: "cpu", "memory", "disk";
  // empty when it fits.
  std::string exhausted(const Amount& ask) const;
  // Says what keeps the group's ports off this node: "network: …"; empty when they fit.
  std::string ports_exhausted(const v1::TaskGroup& group, const v1::Node& node) const {
    return scheduler::ports_exhausted(group, node, shape_->addresses, ports_);
  }
  // How many of the node's cores would have to be free besides for the group.
  int64_t cores_missing(const v1::TaskGroup& group) const;
  bool cores_exhausted(const v1::TaskGroup& group) const { return cores_missing(group) > 0; }
  // Says in which dimension what is counted exceeds the node, or what two allocations hold; empty when all is well.
  std::string overcommitted() const;

  // The resources that the group gets here, without devices. `seed` alone chooses dynamic ports, so the same question
  // has the same answer. Requires: ports and cores are there.
  v1::AllocatedResources grant(const v1::TaskGroup& group, const v1::Node& node, bool memory_max,
                               std::string_view seed) const;
  Amount ask_of(const v1::TaskGroup& group) const { return amount_of(group, shape_->mhz_per_core); }

  // 0 (an empty node) to 18 (a full one) with `ask` on top; spread(): the other way round.
  double binpack(const Amount& ask) const;
  double spread(const Amount& ask) const;

  // The ports as columns of many nodes keep them. At least so many dynamic ones are free on the first address of the
  // default network; and port_bit() of each port beside the dynamic ones that is taken or reserved on any address.
  int32_t spare_ports() const;
  uint64_t port_bits() const;

  const Amount& capacity() const { return shape_->capacity; }
  const Amount& used() const { return used_; }
  const TakenDevices& devices() const { return devices_; }
  const HostAddresses& addresses() const { return shape_->addresses; }
  bool operator==(const NodeRoom& other) const;

 private:
  // The node's own; the same for all copies.
  struct Shape {
    Amount capacity;
    HostAddresses addresses;
    uint64_t reserved_port_bits;
    std::vector<uint32_t> cores;  // that may be reserved, sorted
    int64_t mhz_per_core;
  };
  static std::shared_ptr<const Shape> shape_of(const v1::Node& node);
  std::vector<uint32_t> free_cores() const;

  std::shared_ptr<const Shape> shape_;
  Amount used_;
  TakenPorts ports_;
  std::vector<uint32_t> cores_;  // held, sorted; one held twice stands twice
  TakenDevices devices_;
};

}  // namespace drover::scheduler
