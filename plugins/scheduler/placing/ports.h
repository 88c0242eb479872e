// The addresses of a node that ports are bound to, and which ports are taken of them. Ports are counted by address: two
// addresses may have the same one. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {

// The network of a port that names none.
inline constexpr std::string_view kDefaultNetwork = "default";

// A port's bit in a set of 64: where it is not set, the port is not in the set.
constexpr uint64_t port_bit(int32_t port) {
  return uint64_t{1} << ((static_cast<uint32_t>(port) * 2654435761U) >> 26U);
}

// Reads "22,80,8000-8010". Anything that is no port is left out: the node's agent has checked it.
std::set<int32_t> parse_ports(std::string_view text);

// The network of the host that a port asks for, with the node's values filled in; nothing when the node has no such
// value. A port that asks for none is of the network "default".
std::optional<std::string> host_network_of(const v1::Port& port, const v1::Node& node);

// A port that an allocation holds.
struct HeldPort {
  std::string ip;  // empty: the node's first address
  int32_t port = 0;
};
std::vector<HeldPort> ports_of(const v1::AllocatedResources& resources);

// The offer of a node; it does not change while the node stays the same.
class HostAddresses {
 public:
  explicit HostAddresses(const v1::Node& node);

  struct Address {
    std::string alias;
    std::string device;
    std::string ip;
    size_t slot;  // the same for entries of one IP
  };
  const std::vector<Address>& all() const { return all_; }
  bool empty() const { return all_.empty(); }
  // Null when the node has no address of that network.
  const Address* first_of(std::string_view alias) const;
  // Nothing for an address that the node does not have.
  std::optional<size_t> slot_of(std::string_view ip) const;
  const std::string& ip_of(size_t slot) const { return ips_[slot]; }
  bool reserved(size_t slot, int32_t port) const { return reserved_[slot].contains(port); }
  // How many ports of the range for dynamic ones nobody may have.
  int32_t reserved_dynamic(size_t slot) const { return reserved_dynamic_[slot]; }
  // port_bit() of each port that is reserved on some address, but for those of the range for dynamic ones.
  uint64_t reserved_bits() const;
  int32_t first_dynamic() const { return first_dynamic_; }
  int32_t last_dynamic() const { return last_dynamic_; }

 private:
  size_t add_slot(const std::string& ip);

  std::vector<Address> all_;
  std::vector<std::string> ips_;
  std::vector<std::set<int32_t>> reserved_;  // by slot
  std::vector<int32_t> reserved_dynamic_;
  int32_t first_dynamic_;
  int32_t last_dynamic_;
};

// Ports that allocations hold. A port may stand in it twice, after two had it at the same time.
class TakenPorts {
 public:
  void add(const HostAddresses& addresses, const HeldPort& port);
  void remove(const HostAddresses& addresses, const HeldPort& port);

  bool holds(size_t slot, int32_t port) const;
  size_t size() const { return taken_.size(); }
  // An upper bound; exact as long as no port is held twice.
  int32_t held_dynamic(const HostAddresses& addresses, size_t slot) const;
  // port_bit() of each port beside the range for dynamic ones.
  uint64_t bits(const HostAddresses& addresses) const;
  // Says which port is taken although the node reserves it, or is held twice; empty when all is well.
  std::string collision(const HostAddresses& addresses) const;
  friend bool operator==(const TakenPorts&, const TakenPorts&) = default;

 private:
  std::vector<uint32_t> taken_;  // slot and port, sorted
};

// "network: …" when the group's ports find no place beside what is taken; else empty.
std::string ports_exhausted(const v1::TaskGroup& group, const v1::Node& node, const HostAddresses& addresses,
                            const TakenPorts& taken);
// Fills in the group's networks and ports. `seed` alone chooses the dynamic ones. Requires: they find a place.
void grant_ports(const v1::TaskGroup& group, const v1::Node& node, const HostAddresses& addresses,
                 const TakenPorts& taken, std::string_view seed, v1::AllocatedSharedResources& shared);

}  // namespace drover::scheduler
