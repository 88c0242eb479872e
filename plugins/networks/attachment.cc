#include "attachment.h"

#include "drover/v1/allocation.pb.h"

namespace drover::networks {

std::vector<StoredPort> mapped_ports(const v1::Allocation& allocation, bool binds_everywhere) {
  std::vector<StoredPort> ports;
  for (const v1::PortMapping& given : allocation.allocated_resources().shared().ports()) {
    StoredPort port;
    port.set_host(given.value());
    port.set_inside(given.to() > 0 ? given.to() : given.value());
    if (!binds_everywhere) port.set_host_ip(given.host_ip());
    ports.push_back(std::move(port));
  }
  return ports;
}

}  // namespace drover::networks
