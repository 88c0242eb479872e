#include "service_address.h"

#include <charconv>
#include <optional>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

constexpr int kMaxPort = 65535;

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::optional<int> number_of(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// A port that is written as a number; `otherwise` when it is none.
Result<ServiceAddress> by_number(const std::string& address, const std::string& port, const std::string& otherwise) {
  const std::optional<int> number = number_of(port);
  if (!number) return invalid_argument(otherwise);
  if (*number <= 0) return invalid_argument("invalid port: " + quoted(port) + ": port must be >0");
  if (*number > kMaxPort) return invalid_argument("invalid port: " + quoted(port) + ": port must be at most 65535");
  return ServiceAddress{address, *number};
}

const v1::PortMapping* mapping(const ServicePlace& place, const std::string& label) {
  for (const v1::PortMapping& port : place.allocation.allocated_resources().shared().ports()) {
    if (port.label() == label) return &port;
  }
  return nullptr;
}

// The networks as they were before ports were the group's: of the task, or what the group was given.
const google::protobuf::RepeatedPtrField<v1::NetworkResource>& networks(const ServicePlace& place) {
  const v1::AllocatedResources& given = place.allocation.allocated_resources();
  if (!place.task) return given.shared().networks();
  const auto at = given.tasks().find(place.task->name());
  return at == given.tasks().end() ? v1::AllocatedTaskResources::default_instance().networks() : at->second.networks();
}

std::optional<ServiceAddress> on_network(const v1::NetworkResource& network, const std::string& label) {
  for (const auto* ports : {&network.reserved_ports(), &network.dynamic_ports()}) {
    for (const v1::Port& port : *ports) {
      if (port.label() == label) return ServiceAddress{network.ip(), port.value()};
    }
  }
  return std::nullopt;
}

Result<ServiceAddress> on_host(const std::string& port, const ServicePlace& place) {
  const auto& all = networks(place);
  if (port.empty()) return all.size() == 1 ? ServiceAddress{all[0].ip(), 0} : ServiceAddress{};
  if (const v1::PortMapping* mapped = mapping(place, port)) return ServiceAddress{mapped->host_ip(), mapped->value()};
  for (const v1::NetworkResource& network : all) {
    if (auto found = on_network(network, port)) return *found;
  }
  return by_number("", port, "invalid port " + quoted(port) + ": port label not found");
}

Result<ServiceAddress> in_driver(const std::string& port, const ServicePlace& place) {
  if (!place.driver_network) return failed_precondition("cannot use address_mode=\"driver\": no driver network exists");
  const hashicorp::nomad::plugins::drivers::proto::NetworkOverride& network = *place.driver_network;
  if (port.empty()) return ServiceAddress{network.addr(), 0};
  if (const v1::PortMapping* mapped = mapping(place, port)) return ServiceAddress{network.addr(), mapped->to()};
  if (const auto at = network.port_map().find(port); at != network.port_map().end())
    return ServiceAddress{network.addr(), at->second};
  return by_number(network.addr(), port,
                   "invalid port label " + quoted(port) +
                       ": port labels in driver address_mode must be numeric or in the driver's port map");
}

Result<ServiceAddress> in_allocation(const std::string& port, const ServicePlace& place) {
  if (!place.network || place.network->address().empty())
    return failed_precondition("cannot use address_mode=\"alloc\": no allocation network status reported");
  const std::string& address = place.network->address();
  if (port.empty()) return ServiceAddress{address, 0};
  if (const v1::PortMapping* mapped = mapping(place, port))
    return ServiceAddress{address, mapped->to() > 0 ? mapped->to() : mapped->value()};
  return by_number(address, port, "invalid port " + quoted(port) + ": port label not found or is not numeric");
}

Result<ServiceAddress> at_address(const AddressWish& wish, const ServicePlace& place) {
  if (wish.port.empty()) return ServiceAddress{wish.address, 0};
  if (const v1::PortMapping* mapped = mapping(place, wish.port)) return ServiceAddress{wish.address, mapped->value()};
  return by_number(wish.address, wish.port,
                   "invalid port: " + quoted(wish.port) + ": not a valid port mapping or numeric port");
}

}  // namespace

Result<ServiceAddress> service_address(const AddressWish& wish, const ServicePlace& place) {
  const bool is_auto = wish.mode.empty() || wish.mode == "auto";
  if (!is_auto && !wish.address.empty())
    return invalid_argument("cannot use custom advertise address with " + quoted(wish.mode) + " address mode");
  if (is_auto && !wish.address.empty()) return at_address(wish, place);
  if (is_auto && place.driver_network && place.driver_network->auto_advertise()) return in_driver(wish.port, place);
  if (is_auto || wish.mode == "host") return on_host(wish.port, place);
  if (wish.mode == "driver") return in_driver(wish.port, place);
  if (wish.mode == "alloc") return in_allocation(wish.port, place);
  return invalid_argument("invalid address mode " + quoted(wish.mode) +
                          ": must be one of auto, host, driver and alloc");
}

}  // namespace drover
