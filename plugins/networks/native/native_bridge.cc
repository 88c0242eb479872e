#include "native/native_bridge.h"

#include <fcntl.h>

#include <fstream>

#include "drover/fd.h"
#include "drover/log.h"
#include "drover/messages.h"
#include "drover/v1/allocation.pb.h"
#include "native/links.h"
#include "native/rules.h"

namespace drover::networks {
namespace {

constexpr std::string_view kLease = "lease/";

// The name of the wire's end on this machine: as much of the identifier as a name may hold.
std::string wire_name(const std::string& allocation) {
  std::string name = "veth";
  for (const char c : allocation) {
    if (c != '-' && name.size() < 15) name += c;
  }
  return name;
}

Status set_sysctl(const std::string& path, const char* value) {
  std::ofstream file("/proc/sys/net/" + path);
  file << value << std::flush;
  return file ? ok_status() : unavailable("set /proc/sys/net/" + path + " to " + value);
}

}  // namespace

Status NativeBridge::start() {
  const MutexLock lock(mutex_);
  DROVER_TRY(const auto rows, store_.list(kLease));
  for (const auto& [key, bytes] : rows) {
    DROVER_TRY(StoredLease lease, parse_message<StoredLease>(bytes));
    last_ = std::max(last_, lease.number());
    leases_[key.substr(kLease.size())] = std::move(lease);
  }
  if (leases_.empty()) return ok_status();
  admit();
  if (const Status status = filter(); !status.ok())
    log::error("networks", "the rules for allocations are not in place", {{"error", status.message()}});
  return ok_status();
}

std::string NativeBridge::range_address(const Subnet& subnet, uint32_t number) const {
  return host_address(subnet, number) + "/" + std::to_string(subnet.bits);
}

Status NativeBridge::filter() {
  std::vector<StoredLease> leases;
  for (const auto& [allocation, lease] : leases_) leases.push_back(lease);
  return packet_filter_.run(rules_script(config_, leases)).status();
}

void NativeBridge::admit() {
  std::vector<std::string> families = {"ip"};
  if (config_.subnet6) families.emplace_back("ip6");
  for (const std::string& family : families) {
    const auto printed = packet_filter_.run("list chain " + family + " filter FORWARD");
    if (!printed || is_admitted(config_, *printed)) continue;
    if (const Status status = packet_filter_.run(admission_script(config_, family)).status(); !status.ok())
      log::warn("networks", "other rules of this machine may drop packets of allocations",
                {{"error", status.message()}});
  }
}

Status NativeBridge::begin(const Wanted&, StoredAttachment& out) {
  out.set_kind("native");
  return ok_status();
}

Result<StoredLease> NativeBridge::lease_for(const Wanted& wanted) {
  std::set<uint32_t> taken;
  for (const auto& [allocation, lease] : leases_) taken.insert(lease.number());
  uint32_t hosts = hosts_in(config_.subnet);
  if (config_.subnet6) hosts = std::min(hosts, hosts_in(*config_.subnet6));
  StoredLease lease;
  DROVER_TRY(const uint32_t number, free_number(taken, last_, hosts));
  lease.set_number(number);
  *lease.mutable_ports() = {wanted.ports.begin(), wanted.ports.end()};
  const LocalStore::Write write{std::string(kLease) + wanted.allocation, serialize(lease)};
  DROVER_RETURN_IF_ERROR(store_.write({&write, 1}));
  last_ = number;
  leases_[wanted.allocation] = lease;
  return lease;
}

Status NativeBridge::raise_bridge(Links& here) {
  DROVER_RETURN_IF_ERROR(here.make_bridge(config_.bridge));
  DROVER_RETURN_IF_ERROR(here.add_address(config_.bridge, range_address(config_.subnet, 1)));
  if (config_.subnet6) DROVER_RETURN_IF_ERROR(here.add_address(config_.bridge, range_address(*config_.subnet6, 1)));
  DROVER_RETURN_IF_ERROR(here.raise(config_.bridge));
  DROVER_RETURN_IF_ERROR(set_sysctl("ipv4/ip_forward", "1"));
  DROVER_RETURN_IF_ERROR(set_sysctl("ipv4/conf/" + config_.bridge + "/route_localnet", "1"));
  if (config_.subnet6) DROVER_RETURN_IF_ERROR(set_sysctl("ipv6/conf/all/forwarding", "1"));
  admit();
  return ok_status();
}

Status NativeBridge::connect(const Wanted& wanted, const StoredLease& lease) {
  DROVER_TRY(Links here, Links::open());
  DROVER_RETURN_IF_ERROR(raise_bridge(here));
  const Fd name_space(::open(wanted.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!name_space) return errno_status(errno, "open the network namespace " + wanted.path);
  const std::string wire = wire_name(wanted.allocation);
  DROVER_RETURN_IF_ERROR(here.remove(wire));  // what is left of a former attempt
  DROVER_RETURN_IF_ERROR(here.make_wire(wire, config_.bridge, kInterface, name_space.get(), config_.is_hairpin));
  DROVER_TRY(Links inside, Links::open_in(wanted.path));
  DROVER_RETURN_IF_ERROR(inside.raise("lo"));
  DROVER_RETURN_IF_ERROR(inside.raise(kInterface));
  DROVER_RETURN_IF_ERROR(inside.add_address(kInterface, range_address(config_.subnet, lease.number())));
  DROVER_RETURN_IF_ERROR(inside.add_default_route(kInterface, host_address(config_.subnet, 1)));
  if (!config_.subnet6) return ok_status();
  DROVER_RETURN_IF_ERROR(inside.add_address(kInterface, range_address(*config_.subnet6, lease.number())));
  return inside.add_default_route(kInterface, host_address(*config_.subnet6, 1));
}

Status NativeBridge::attach(const Wanted& wanted, StoredAttachment& out) {
  const MutexLock lock(mutex_);
  DROVER_RETURN_IF_ERROR(check_ports(leases_, wanted));
  DROVER_TRY(const StoredLease lease, lease_for(wanted));
  Status status = connect(wanted, lease);
  if (status.ok()) status = filter();
  if (!status.ok()) {
    (void)release(wanted.allocation);
    return status;
  }
  out.mutable_status()->set_interface_name(kInterface);
  out.mutable_status()->set_address(host_address(config_.subnet, lease.number()));
  return ok_status();
}

// The rules are in place: start() has seen to that.
Status NativeBridge::found(const Wanted& wanted, const StoredAttachment&) {
  const MutexLock lock(mutex_);
  if (!leases_.contains(wanted.allocation)) return not_found("its address is not known any more");
  DROVER_TRY(Links inside, Links::open_in(wanted.path));
  return inside.check(kInterface);
}

Status NativeBridge::release(const std::string& allocation) {
  DROVER_TRY(Links here, Links::open());
  DROVER_RETURN_IF_ERROR(here.remove(wire_name(allocation)));
  if (!leases_.contains(allocation)) return ok_status();
  const StoredLease lease = leases_.at(allocation);
  leases_.erase(allocation);
  Status status = filter();
  const LocalStore::Write write{std::string(kLease) + allocation, std::nullopt};
  if (status.ok()) status = store_.write({&write, 1});
  if (!status.ok()) leases_[allocation] = lease;  // until it is given back
  return status;
}

Status NativeBridge::detach(const Wanted& wanted, const StoredAttachment&) {
  const MutexLock lock(mutex_);
  return release(wanted.allocation);
}

}  // namespace drover::networks
