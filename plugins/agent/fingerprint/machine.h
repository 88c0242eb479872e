// Describes this machine: attributes and resources, from what the operating system says. The readers of its texts are
// pure; describe_machine does the I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client_config.h"
#include "fingerprint/host_networks.h"

namespace drover::v1 {
class Node;
}

namespace drover::agent {

struct CpuInfo {
  int cores = 0;
  double mhz = 0;  // of one core
  std::string model;
};
CpuInfo parse_cpuinfo(std::string_view text);        // /proc/cpuinfo
uint64_t parse_memory_total(std::string_view text);  // /proc/meminfo, bytes
struct OsRelease {
  std::string name;
  std::string version;
};
OsRelease parse_os_release(std::string_view text);

enum class CgroupMode : uint8_t { none, v1, v2, hybrid };
CgroupMode cgroup_mode(bool root_is_v2, bool has_unified_folder, bool has_v1);

// The address allocations use: of the wanted interface, else of the default route's, else loopback's.
// Errors: not_found when a wanted interface has no address.
Result<InterfaceAddress> find_address(const std::string& wanted, bool loopback);

// Fills attributes and resources of `node`. Errors: as find_address; not_found for a configured network of the host
// that is not there.
Status describe_machine(const ClientConfig& config, bool dev_mode, v1::Node& node);

}  // namespace drover::agent
