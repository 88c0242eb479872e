// Rules of a group's networks, volumes and scaling.
#include <algorithm>
#include <map>
#include <set>

#include "drover/model/csi_volume.h"
#include "drover/model/host_volume.h"
#include "drover/model/job.h"
#include "validate_parts.h"

namespace drover::jobs {
namespace {

void check_network(const Place& place, const v1::NetworkResource& network, std::set<std::string>& labels,
                   std::map<std::string, std::set<int32_t>>& values) {
  const std::string& mode = network.mode();
  const bool is_known = mode == "none" || mode == "bridge" || mode == "host" || mode.starts_with("cni/");
  place["mode"].require(is_known, quoted(mode) + " is unknown; use none, bridge, host or cni/<name>");
  const std::string& hostname = network.hostname();
  const bool is_decided_later = hostname.find("${") != std::string::npos;
  place["hostname"].require(hostname.empty() || is_decided_later || is_dns_name(hostname),
                            quoted(hostname) + " is no host name");
  place["hostname"].require(hostname.empty() || mode != "host",
                            "cannot be set on task group using \"host\" networking mode");
  place["cni"].require(!network.has_cni() || mode.starts_with("cni/"), "is for network modes cni/<name>");
  if (network.mbits() != 0) place["mbits"].warn("has no effect any more");
  for (const auto* ports : {&network.reserved_ports(), &network.dynamic_ports()}) {
    for (int i = 0; i < ports->size(); ++i) {
      const v1::Port& port = (*ports)[i];
      const Place at = place.item("port", port.label(), i);
      at.require(!port.label().empty(), "a port has no label");
      if (!labels.insert(port.label()).second) at.error("is defined twice");
      at["to"].require(port.to() >= -1 && port.to() <= 65535, "must be between -1 and 65535");
      at["ignore_collision"].require(!port.ignore_collision() || mode == "host", "is for network mode \"host\"");
      at["ignore_collision"].unsupported(port.ignore_collision(), "ignore_collision");
    }
  }
  for (int i = 0; i < network.reserved_ports_size(); ++i) {
    const v1::Port& port = network.reserved_ports(i);
    const Place at = place.item("port", port.label(), i)["static"];
    at.require(port.value() >= 1 && port.value() <= 65535, "must be between 1 and 65535");
    if (!values[port.host_network()].insert(port.value()).second) at.error("uses a static port twice");
  }
}

}  // namespace

void check_networks(const Place& place, const google::protobuf::RepeatedPtrField<v1::NetworkResource>& networks) {
  place.require(networks.size() <= 1, "has more than one network");
  std::set<std::string> labels;
  std::map<std::string, std::set<int32_t>> values;
  for (int i = 0; i < networks.size(); ++i) check_network(place.item("network", "", i), networks[i], labels, values);
}

void check_volume(const Place& place, const v1::VolumeRequest& volume, const v1::TaskGroup& group, const v1::Job& job) {
  place["type"].require_one_of(volume.type(), {"host", "csi"});
  place["source"].require(!volume.source().empty(), "source is missing");
  place["per_alloc"].require(!volume.per_alloc() || !job.type().starts_with("sys"), "is not for system jobs");
  place["per_alloc"].require(!volume.per_alloc() || group.update().canary() == 0, "excludes canaries");
  const std::string& access = volume.access_mode();
  if (volume.type() == "csi") {
    place["access_mode"].require_one_of(
        access, {"single-node-reader-only", "single-node-writer", "multi-node-reader-only", "multi-node-single-writer",
                 "multi-node-multi-writer"});
    place["attachment_mode"].require_one_of(volume.attachment_mode(), {"file-system", "block-device"});
    place["read_only"].require(!access.ends_with("reader-only") || volume.read_only(),
                               "access_mode " + quoted(access) + " needs read_only");
    const bool has_one_writer =
        access.starts_with("single-node") || (access == "multi-node-single-writer" && !volume.read_only());
    place["per_alloc"].require(!has_one_writer || group.count() <= 1 || volume.per_alloc(),
                               "access_mode " + quoted(access) + " with a count above 1 needs per_alloc");
    place["mount_options"].require(!volume.has_mount_options() || volume.attachment_mode() != "block-device",
                                   "a block device has no mount options");
  } else if (volume.type() == "host") {
    place["access_mode"].require(access.empty() || is_host_access_mode(access),
                                 quoted(access) + " is no access mode of host volumes");
    place["attachment_mode"].require(
        volume.attachment_mode().empty() || is_csi_attachment_mode(volume.attachment_mode()),
        quoted(volume.attachment_mode()) + " is no attachment mode");
    place["read_only"].require(access != "single-node-reader-only" || volume.read_only(),
                               "access_mode " + quoted(access) + " needs read_only");
    place["mount_options"].require(!volume.has_mount_options(), "is for csi volumes");
  }
  place["sticky"].require(!volume.sticky() || volume.type() == "host", "is for host volumes");
  place["sticky"].require(!volume.sticky() || !volume.per_alloc(), "excludes per_alloc");
}

void check_scaling(const Place& place, const v1::ScalingPolicy& policy, const v1::TaskGroup& group, bool is_of_task) {
  if (is_of_task) {
    place["type"].require_one_of(policy.type(), {"vertical_cpu", "vertical_mem"});
    place.unsupported(true, "scaling of a task");
    return;
  }
  place["type"].require_one_of(policy.type(), {"horizontal"});
  place["min"].require(policy.min() >= 0, "must not be negative");
  place["max"].require(policy.has_max(), "max is missing");
  if (!policy.has_max()) return;
  place["max"].require(policy.max() >= policy.min(), "must not be below min");
  place["max"].require(policy.max() >= group.count(), "must not be below the group's count");
  place["min"].require(policy.min() <= group.count(), "must not be above the group's count");
}

}  // namespace drover::jobs
