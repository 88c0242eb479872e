#include "native/leases.h"

#include <algorithm>

namespace drover::networks {
namespace {

bool are_same(const StoredPort& one, const StoredPort& other) {
  const bool share_an_address =
      one.host_ip() == other.host_ip() || one.host_ip().empty() || other.host_ip().empty();
  return one.host() == other.host() && share_an_address;
}

}  // namespace

Result<uint32_t> free_number(const std::set<uint32_t>& taken, uint32_t last, uint32_t hosts) {
  for (uint32_t step = 0; step < hosts; ++step) {
    last = last >= hosts ? 1 : last + 1;
    if (last > 1 && !taken.contains(last)) return last;
  }
  return resource_exhausted("all " + std::to_string(hosts) + " addresses of the bridge's subnet are in use");
}

Status check_ports(const Leases& leases, const Wanted& wanted) {
  for (const auto& [allocation, lease] : leases) {
    if (allocation == wanted.allocation) continue;
    for (const StoredPort& ours : wanted.ports) {
      const auto is_ours = [&](const StoredPort& theirs) { return are_same(ours, theirs); };
      if (std::ranges::any_of(lease.ports(), is_ours))
        return failed_precondition("port " + std::to_string(ours.host()) + " of this machine is mapped to allocation " +
                                   allocation);
    }
  }
  return ok_status();
}

}  // namespace drover::networks
