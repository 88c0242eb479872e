#include "fit.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "hash.h"

namespace drover::scheduler {
namespace {

constexpr int32_t kMinDynamicPort = 20000;
constexpr int32_t kMaxDynamicPort = 32000;

int32_t port_number(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  int32_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 65535) return 0;
  return value;
}

template <typename Visit>
void each_port(const v1::AllocatedResources& resources, Visit visit) {
  for (const v1::PortMapping& port : resources.shared().ports()) visit(port.value());
  for (const auto& [name, task] : resources.tasks()) {
    for (const v1::NetworkResource& network : task.networks()) {
      for (const v1::Port& port : network.reserved_ports()) visit(port.value());
      for (const v1::Port& port : network.dynamic_ports()) visit(port.value());
    }
  }
}

int dynamic_ports(const v1::TaskGroup& group) {
  int count = 0;
  for (const v1::NetworkResource& network : group.networks()) count += network.dynamic_ports_size();
  return count;
}

double free_share(int64_t capacity, int64_t used) {
  if (capacity <= 0) return 0;
  return 1 - static_cast<double>(used) / static_cast<double>(capacity);
}

}  // namespace

Amount& Amount::operator+=(const Amount& other) {
  cpu += other.cpu;
  memory_mb += other.memory_mb;
  disk_mb += other.disk_mb;
  return *this;
}

Amount& Amount::operator-=(const Amount& other) {
  cpu -= other.cpu;
  memory_mb -= other.memory_mb;
  disk_mb -= other.disk_mb;
  return *this;
}

Amount capacity_of(const v1::Node& node) {
  const auto& all = node.node_resources();
  const auto& reserved = node.reserved_resources();
  return {.cpu = all.cpu().cpu_shares() - reserved.cpu().cpu_shares(),
          .memory_mb = all.memory().memory_mb() - reserved.memory().memory_mb(),
          .disk_mb = all.disk().disk_mb() - reserved.disk().disk_mb()};
}

Amount amount_of(const v1::AllocatedResources& resources) {
  Amount amount;
  for (const auto& [name, task] : resources.tasks()) {
    amount.cpu += task.cpu().cpu_shares();
    amount.memory_mb += task.memory().memory_mb();
  }
  amount.disk_mb = resources.shared().disk_mb();
  return amount;
}

Amount amount_of(const v1::TaskGroup& group) {
  Amount amount;
  for (const v1::Task& task : group.tasks()) {
    amount.cpu += task.resources().cpu();
    amount.memory_mb += task.resources().memory_mb();
  }
  amount.disk_mb = group.ephemeral_disk().size_mb();
  return amount;
}

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

HostNetwork host_network_of(const v1::Node& node) {
  for (const v1::NodeNetwork& network : node.node_resources().node_networks()) {
    if (!network.mode().empty() && network.mode() != "host") continue;
    for (const v1::NodeAddress& address : network.addresses()) {
      if (address.alias().empty() || address.alias() == "default") return {network.device(), address.address()};
    }
  }
  for (const v1::NetworkResource& network : node.node_resources().networks()) {
    if ((network.mode().empty() || network.mode() == "host") && !network.ip().empty()) {
      return {network.device(), network.ip()};
    }
  }
  return {};
}

NodeRoom::NodeRoom(const v1::Node& node)
    : capacity_(capacity_of(node)),
      network_(host_network_of(node)),
      reserved_(parse_ports(node.reserved_resources().networks().reserved_host_ports())),
      first_dynamic_(node.node_resources().min_dynamic_port()),
      last_dynamic_(node.node_resources().max_dynamic_port()) {
  if (first_dynamic_ <= 0) first_dynamic_ = kMinDynamicPort;
  if (last_dynamic_ <= 0) last_dynamic_ = kMaxDynamicPort;
  for (const v1::NodeNetwork& network : node.node_resources().node_networks()) {
    for (const v1::NodeAddress& address : network.addresses()) {
      if (address.address() == network_.ip) reserved_.merge(parse_ports(address.reserved_ports()));
    }
  }
}

void NodeRoom::add(const v1::AllocatedResources& resources) {
  used_ += amount_of(resources);
  devices_.add(resources);
  each_port(resources, [&](int32_t port) { ports_.insert(port); });
}

void NodeRoom::remove(const v1::AllocatedResources& resources) {
  used_ -= amount_of(resources);
  devices_.remove(resources);
  each_port(resources, [&](int32_t port) {
    if (auto at = ports_.find(port); at != ports_.end()) ports_.erase(at);
  });
}

std::string NodeRoom::exhausted(const Amount& ask) const {
  if (used_.cpu + ask.cpu > capacity_.cpu) return "cpu";
  if (used_.memory_mb + ask.memory_mb > capacity_.memory_mb) return "memory";
  if (used_.disk_mb + ask.disk_mb > capacity_.disk_mb) return "disk";
  return {};
}

std::string NodeRoom::ports_exhausted(const v1::TaskGroup& group) const {
  std::set<int32_t> asked;
  for (const v1::NetworkResource& network : group.networks()) {
    for (const v1::Port& port : network.reserved_ports()) {
      if (taken(port.value()) || !asked.insert(port.value()).second) return "network: port collision";
    }
  }
  int wanted = dynamic_ports(group);
  if (wanted == 0 && asked.empty()) return {};
  if (network_.ip.empty()) return "network: no addresses available for \"default\" network";
  for (int32_t port = first_dynamic_; port <= last_dynamic_ && wanted > 0; ++port) {
    if (!taken(port) && !asked.contains(port)) --wanted;
  }
  return wanted > 0 ? "network: dynamic port selection failed" : "";
}

bool NodeRoom::overcommitted() const {
  if (!exhausted({}).empty() || devices_.overcommitted()) return true;
  for (auto at = ports_.begin(); at != ports_.end(); ++at) {
    if (reserved_.contains(*at)) return true;
    if (auto next = std::next(at); next != ports_.end() && *next == *at) return true;
  }
  return false;
}

v1::AllocatedResources NodeRoom::grant(const v1::TaskGroup& group, std::string_view seed) const {
  v1::AllocatedResources granted;
  for (const v1::Task& task : group.tasks()) {
    v1::AllocatedTaskResources& resources = (*granted.mutable_tasks())[task.name()];
    resources.mutable_cpu()->set_cpu_shares(task.resources().cpu());
    resources.mutable_memory()->set_memory_mb(task.resources().memory_mb());
    // Memory oversubscription is off: memory_max has no effect, as registration warns.
  }
  v1::AllocatedSharedResources& shared = *granted.mutable_shared();
  shared.set_disk_mb(group.ephemeral_disk().size_mb());
  std::set<int32_t> given;
  for (const v1::NetworkResource& network : group.networks()) {
    for (const v1::Port& port : network.reserved_ports()) given.insert(port.value());
  }
  uint64_t random = stable_hash(seed);
  const int32_t span = std::max(last_dynamic_ - first_dynamic_ + 1, 1);
  const auto next_free = [&] {
    random = stable_hash("port", random);
    const auto start = static_cast<int32_t>(random % static_cast<uint64_t>(span));
    for (int32_t step = 0; step < span; ++step) {
      const int32_t port = first_dynamic_ + (start + step) % span;
      if (!taken(port) && given.insert(port).second) return port;
    }
    return 0;
  };
  const auto map_port = [&](v1::Port& port) {
    if (port.to() == -1) port.set_to(port.value());
    v1::PortMapping& mapping = *shared.add_ports();
    mapping.set_label(port.label());
    mapping.set_value(port.value());
    mapping.set_to(port.to());
    mapping.set_host_ip(network_.ip);
  };
  for (const v1::NetworkResource& asked : group.networks()) {
    v1::NetworkResource& network = *shared.add_networks();
    network = asked;
    network.set_device(network_.device);
    network.set_ip(network_.ip);
    for (v1::Port& port : *network.mutable_reserved_ports()) map_port(port);
    for (v1::Port& port : *network.mutable_dynamic_ports()) {
      port.set_value(next_free());
      map_port(port);
    }
  }
  return granted;
}

double NodeRoom::binpack(const Amount& ask) const {
  const double total = std::pow(10, free_share(capacity_.cpu, used_.cpu + ask.cpu)) +
                       std::pow(10, free_share(capacity_.memory_mb, used_.memory_mb + ask.memory_mb));
  return std::clamp(20 - total, 0.0, 18.0);
}

}  // namespace drover::scheduler
