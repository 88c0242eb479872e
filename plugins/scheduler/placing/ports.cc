#include "ports.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "drover/model/constraint.h"
#include "drover/v1/job.pb.h"
#include "hash.h"

namespace drover::scheduler {
namespace {

constexpr int32_t kMinDynamicPort = 20000;
constexpr int32_t kMaxDynamicPort = 32000;
constexpr int32_t kMaxPort = 65535;
constexpr uint32_t kSlotShift = 16;

int32_t port_number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  int32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxPort) return 0;
  return value;
}

uint32_t packed(size_t slot, int32_t port) {
  return (static_cast<uint32_t>(slot) << kSlotShift) | static_cast<uint32_t>(port);
}

bool of_host(const std::string& mode) { return mode.empty() || mode == "host"; }

// Ports asked for so far in one group, by address.
using Asked = std::set<std::pair<size_t, int32_t>>;

std::optional<std::string> network_named(const std::string& name, const v1::Node& node) {
  if (name.empty()) return std::string(kDefaultNetwork);
  return resolve_target(name, node);
}

std::string no_address(const std::string& network) {
  return "network: no addresses available for " + network + " network";
}

// The static ports; nothing asked for twice.
std::string statics_exhausted(const v1::NetworkResource& network, const v1::Node& node, const HostAddresses& addresses,
                              const TakenPorts& taken, Asked& asked) {
  for (const v1::Port& port : network.reserved_ports()) {
    const std::string wanted = host_network_of(port, node).value_or(port.host_network());
    const HostAddresses::Address* address = addresses.first_of(wanted);
    if (!address) return no_address(wanted);
    const int32_t value = port.value();
    if (value < 0 || value > kMaxPort) return "network: invalid port " + std::to_string(value) + " (out of range)";
    if (addresses.reserved(address->slot, value) || taken.holds(address->slot, value) ||
        !asked.emplace(address->slot, value).second) {
      return "network: reserved port collision " + port.label() + "=" + std::to_string(value);
    }
  }
  return {};
}

int32_t free_dynamic(const HostAddresses& addresses, const TakenPorts& taken, size_t slot, const Asked& asked,
                     int32_t enough) {
  const int32_t range = addresses.last_dynamic() - addresses.first_dynamic() + 1;
  // Mostly there are so many that nobody need count.
  const int32_t open = range - addresses.reserved_dynamic(slot) - static_cast<int32_t>(asked.size());
  if (open - static_cast<int32_t>(taken.size()) >= enough) return enough;
  if (open - taken.held_dynamic(addresses, slot) >= enough) return enough;
  int32_t free = 0;
  for (int32_t port = addresses.first_dynamic(); port <= addresses.last_dynamic() && free < enough; ++port) {
    free += !addresses.reserved(slot, port) && !taken.holds(slot, port) && !asked.contains({slot, port});
  }
  return free;
}

}  // namespace

std::set<int32_t> parse_ports(std::string_view text) {
  std::set<int32_t> ports;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t dash = item.find('-');
    const int32_t first = port_number(item.substr(0, dash));
    const int32_t last = dash == std::string_view::npos ? first : port_number(item.substr(dash + 1));
    if (first == 0 || last == 0) continue;
    for (int32_t port = first; port <= last; ++port) ports.insert(port);
  }
  return ports;
}

std::optional<std::string> host_network_of(const v1::Port& port, const v1::Node& node) {
  return network_named(port.host_network(), node);
}

std::vector<HeldPort> ports_of(const v1::AllocatedResources& resources) {
  std::vector<HeldPort> held;
  for (const v1::PortMapping& port : resources.shared().ports()) held.push_back({port.host_ip(), port.value()});
  for (const auto& [name, task] : resources.tasks()) {
    for (const v1::NetworkResource& network : task.networks()) {
      for (const v1::Port& port : network.reserved_ports()) held.push_back({network.ip(), port.value()});
      for (const v1::Port& port : network.dynamic_ports()) held.push_back({network.ip(), port.value()});
    }
  }
  return held;
}

HostAddresses::HostAddresses(const v1::Node& node)
    : first_dynamic_(node.node_resources().min_dynamic_port()),
      last_dynamic_(node.node_resources().max_dynamic_port()) {
  if (first_dynamic_ <= 0) first_dynamic_ = kMinDynamicPort;
  if (last_dynamic_ <= 0) last_dynamic_ = kMaxDynamicPort;
  const std::set<int32_t> everywhere = parse_ports(node.reserved_resources().networks().reserved_host_ports());
  for (const v1::NodeNetwork& network : node.node_resources().node_networks()) {
    if (!of_host(network.mode())) continue;
    for (const v1::NodeAddress& address : network.addresses()) {
      const size_t slot = add_slot(address.address());
      reserved_[slot].merge(parse_ports(address.reserved_ports()));
      const std::string alias = address.alias().empty() ? std::string(kDefaultNetwork) : address.alias();
      all_.push_back({alias, network.device(), address.address(), slot});
    }
  }
  for (const v1::NetworkResource& network : node.node_resources().networks()) {
    if (first_of(kDefaultNetwork)) break;  // a node without aliases has one address
    if (!of_host(network.mode()) || network.ip().empty()) continue;
    all_.push_back({std::string(kDefaultNetwork), network.device(), network.ip(), add_slot(network.ip())});
  }
  for (std::set<int32_t>& reserved : reserved_) {
    reserved.insert(everywhere.begin(), everywhere.end());
    reserved_dynamic_.push_back(
        static_cast<int32_t>(std::distance(reserved.lower_bound(first_dynamic_), reserved.upper_bound(last_dynamic_))));
  }
}

size_t HostAddresses::add_slot(const std::string& ip) {
  const auto at = std::ranges::find(ips_, ip);
  if (at != ips_.end()) return static_cast<size_t>(at - ips_.begin());
  ips_.push_back(ip);
  reserved_.emplace_back();
  return ips_.size() - 1;
}

const HostAddresses::Address* HostAddresses::first_of(std::string_view alias) const {
  const auto at = std::ranges::find(all_, alias, &Address::alias);
  return at == all_.end() ? nullptr : &*at;
}

std::optional<size_t> HostAddresses::slot_of(std::string_view ip) const {
  if (ips_.empty()) return std::nullopt;
  if (ip.empty()) {
    const Address* usual = first_of(kDefaultNetwork);
    return usual ? usual->slot : 0;
  }
  const auto at = std::ranges::find(ips_, ip);
  if (at == ips_.end()) return std::nullopt;
  return static_cast<size_t>(at - ips_.begin());
}

uint64_t HostAddresses::reserved_bits() const {
  uint64_t bits = 0;
  for (const std::set<int32_t>& ports : reserved_) {
    for (const int32_t port : ports) bits |= port < first_dynamic_ || port > last_dynamic_ ? port_bit(port) : 0;
  }
  return bits;
}

void TakenPorts::add(const HostAddresses& addresses, const HeldPort& port) {
  const auto slot = addresses.slot_of(port.ip);
  if (!slot) return;  // it was given when the node had other addresses
  const uint32_t key = packed(*slot, port.port);
  taken_.insert(std::ranges::lower_bound(taken_, key), key);
}

void TakenPorts::remove(const HostAddresses& addresses, const HeldPort& port) {
  const auto slot = addresses.slot_of(port.ip);
  if (!slot) return;
  const uint32_t key = packed(*slot, port.port);
  const auto at = std::ranges::lower_bound(taken_, key);
  if (at != taken_.end() && *at == key) taken_.erase(at);
}

bool TakenPorts::holds(size_t slot, int32_t port) const {
  return std::ranges::binary_search(taken_, packed(slot, port));
}

int32_t TakenPorts::held_dynamic(const HostAddresses& addresses, size_t slot) const {
  const auto first = std::ranges::lower_bound(taken_, packed(slot, addresses.first_dynamic()));
  const auto last = std::ranges::upper_bound(taken_, packed(slot, addresses.last_dynamic()));
  return static_cast<int32_t>(last - first);
}

uint64_t TakenPorts::bits(const HostAddresses& addresses) const {
  uint64_t bits = 0;
  for (const uint32_t key : taken_) {
    const auto port = static_cast<int32_t>(key & kMaxPort);
    bits |= port < addresses.first_dynamic() || port > addresses.last_dynamic() ? port_bit(port) : 0;
  }
  return bits;
}

std::string TakenPorts::collision(const HostAddresses& addresses) const {
  const auto name = [&](uint32_t key) {
    return "port " + std::to_string(key & kMaxPort) + " of " + addresses.ip_of(key >> kSlotShift);
  };
  for (const uint32_t key : taken_) {
    if (addresses.reserved(key >> kSlotShift, static_cast<int32_t>(key & kMaxPort))) {
      return "reserved node port collision: " + name(key);
    }
  }
  const auto twice = std::ranges::adjacent_find(taken_);
  return twice == taken_.end() ? "" : "reserved alloc port collision: " + name(*twice);
}

std::string ports_exhausted(const v1::TaskGroup& group, const v1::Node& node, const HostAddresses& addresses,
                            const TakenPorts& taken) {
  Asked asked;
  std::vector<std::pair<const std::string*, int32_t>> wanted;  // dynamic ones, by what the job calls the host's network
  for (const v1::NetworkResource& network : group.networks()) {
    std::string problem = statics_exhausted(network, node, addresses, taken, asked);
    if (!problem.empty()) return problem;
    for (const v1::Port& port : network.dynamic_ports()) {
      const auto at = std::ranges::find_if(wanted, [&](const auto& one) { return *one.first == port.host_network(); });
      if (at != wanted.end()) {
        ++at->second;
      } else {
        wanted.emplace_back(&port.host_network(), 1);
      }
    }
  }
  for (const auto& [name, count] : wanted) {
    const std::string alias = network_named(*name, node).value_or(*name);
    if (!addresses.first_of(alias)) return no_address(alias);
    int32_t found = 0;
    for (const HostAddresses::Address& address : addresses.all()) {
      if (address.alias == alias && found < count) {
        found += free_dynamic(addresses, taken, address.slot, asked, count - found);
      }
    }
    if (found < count) return "network: dynamic port selection failed";
  }
  return {};
}

void grant_ports(const v1::TaskGroup& group, const v1::Node& node, const HostAddresses& addresses,
                 const TakenPorts& taken, std::string_view seed, v1::AllocatedSharedResources& shared) {
  Asked given;
  for (const v1::NetworkResource& network : group.networks()) {
    for (const v1::Port& port : network.reserved_ports()) {
      const auto* address = addresses.first_of(host_network_of(port, node).value_or(""));
      if (address) given.emplace(address->slot, port.value());
    }
  }
  uint64_t random = stable_hash(seed);
  const int32_t span = std::max(addresses.last_dynamic() - addresses.first_dynamic() + 1, 1);
  const auto choose = [&](v1::Port& port) -> const HostAddresses::Address* {
    random = stable_hash("port", random);
    const auto start = static_cast<int32_t>(random % static_cast<uint64_t>(span));
    const std::string alias = host_network_of(port, node).value_or("");
    for (const HostAddresses::Address& address : addresses.all()) {
      if (address.alias != alias) continue;
      for (int32_t step = 0; step < span; ++step) {
        const int32_t value = addresses.first_dynamic() + (start + step) % span;
        if (addresses.reserved(address.slot, value) || taken.holds(address.slot, value)) continue;
        if (!given.emplace(address.slot, value).second) continue;
        port.set_value(value);
        return &address;
      }
    }
    return nullptr;
  };
  const auto map_port = [&](v1::Port& port, const HostAddresses::Address* address) {
    if (port.to() == -1) port.set_to(port.value());
    v1::PortMapping& mapping = *shared.add_ports();
    mapping.set_label(port.label());
    mapping.set_value(port.value());
    mapping.set_to(port.to());
    if (address) mapping.set_host_ip(address->ip);
  };
  for (const v1::NetworkResource& asked : group.networks()) {
    v1::NetworkResource& network = *shared.add_networks();
    network = asked;
    const HostAddresses::Address* usual = addresses.first_of(kDefaultNetwork);
    if (!usual && !addresses.empty()) usual = &addresses.all().front();
    const int before = shared.ports_size();
    for (v1::Port& port : *network.mutable_reserved_ports()) {
      map_port(port, addresses.first_of(host_network_of(port, node).value_or("")));
    }
    for (v1::Port& port : *network.mutable_dynamic_ports()) map_port(port, choose(port));
    // The network shows the address of its first port.
    if (shared.ports_size() > before) {
      for (const HostAddresses::Address& address : addresses.all()) {
        if (address.ip == shared.ports(before).host_ip()) usual = &address;
      }
    }
    if (usual) {
      network.set_device(usual->device);
      network.set_ip(usual->ip);
    }
  }
}

}  // namespace drover::scheduler
